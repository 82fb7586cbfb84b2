"""Our table of the service agrees with what boto3 ships, for as long as it ships it; and nothing needs theirs."""

from typing import Any

import pytest
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.loaders import Loader

from hits.market.service import SERVICE, description, paginators, session

DOCUMENTATION = ("documentation", "deprecated")


def facts(value: Any) -> Any:
    """A description without its documentation, lists of required members in order."""
    if isinstance(value, dict):
        return {
            name: sorted(each) if name == "required" and isinstance(each, list) else facts(each)
            for name, each in value.items()
            if name not in DOCUMENTATION or isinstance(each, dict)
        }
    return [facts(each) for each in value] if isinstance(value, list) else value


def theirs(kind: str) -> Any:
    try:
        return Loader().load_service_model(SERVICE, kind)
    except (DataNotFoundError, UnknownServiceError):
        pytest.skip("this boto3 does not describe the service any more")


def test_the_same_operations_shapes_and_limits() -> None:
    ours, shipped = facts(description()), facts(theirs("service-2"))
    assert ours["operations"] == shipped["operations"]
    assert ours["shapes"] == shipped["shapes"]
    assert ours["metadata"].items() <= shipped["metadata"].items()


def test_the_same_pages() -> None:
    assert paginators() == facts(theirs("paginators-1"))["pagination"]


def test_a_client_is_made_without_their_description(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Loader.load_service_model

    def without(self: Loader, service: str, kind: str, version: str | None = None) -> Any:
        if service == SERVICE:
            raise UnknownServiceError(service_name=service, known_service_names="none")
        return shipped(self, service, kind, version)

    monkeypatch.setattr(Loader, "load_service_model", without)
    client = session().client(
        SERVICE,
        region_name="us-east-1",
        endpoint_url="http://127.0.0.1:1/",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    assert client.meta.service_model.operation_names
    assert client.can_paginate("list_hits")
