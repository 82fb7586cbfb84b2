"""The requester's protocol of Mechanical Turk as boto3 knows it.

Amazon closed the service, so a later boto3 may no longer describe it. ``data/mturk`` has the description that botocore
1.44 ships (Apache-2.0), and server and client load it from there.
"""

from pathlib import Path
from typing import Any

SERVICE = "mturk"
DATA = Path(__file__).parent / "data"


def _loader() -> Any:
    from botocore.loaders import Loader

    return Loader(extra_search_paths=[str(DATA)])


def description() -> dict[str, Any]:
    service: dict[str, Any] = _loader().load_service_model(SERVICE, "service-2")
    return service


def session() -> Any:
    """A boto3 session whose clients of this service are made from our copy of its description."""
    import boto3
    import botocore.session

    core = botocore.session.get_session()
    core.register_component("data_loader", _loader())
    return boto3.Session(botocore_session=core)
