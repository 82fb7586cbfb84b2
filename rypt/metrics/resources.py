"""What a metric may use besides the candidates: references, a campaign, the source, the order of the lists."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rypt.metrics.references import References
from rypt.text import PathLike, RyptError


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources that a metric may use; ``…_from`` says in error messages how a user provides them.

    ``sources`` reads the source of each segment, ``lists`` the segment and text of each candidate in the order of the
    lists' lines; they are None where there are none.
    """

    references: References | None = None
    campaign: PathLike | None = None
    references_from: str = "--references"
    campaign_from: str = "--campaign"
    sources: Callable[[], Mapping[str, str]] | None = None
    lists: Callable[[], Iterable[tuple[str, str]]] | None = None

    def need_references(self, metric: str) -> References:
        """The references; an error that names the metric where there are none."""
        if self.references is None:
            raise RyptError(f"the metric {metric} needs {self.references_from}")
        return self.references

    def need_campaign(self, metric: str) -> PathLike:
        """The folder of the campaign; an error that names the metric where there is none."""
        if self.campaign is None:
            raise RyptError(f"the metric {metric} needs {self.campaign_from}")
        return self.campaign
