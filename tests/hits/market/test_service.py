"""The copy of the service's description is the one that boto3 ships, for as long as it ships it; nothing needs theirs."""

from pathlib import Path

import pytest
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.loaders import Loader

from hits.market.service import SERVICE, description, session


def test_the_same_operations_and_shapes() -> None:
    try:
        shipped = Loader().load_service_model(SERVICE, "service-2")
    except (DataNotFoundError, UnknownServiceError):
        pytest.skip("this boto3 does not describe the service any more")
    assert description() == shipped


def test_a_client_is_made_without_their_description(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for path in Path(Loader.BUILTIN_DATA_PATH).iterdir():
        if path.name != SERVICE:
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.setattr(Loader, "BUILTIN_DATA_PATH", str(tmp_path))
    with pytest.raises(UnknownServiceError):
        Loader().load_service_model(SERVICE, "service-2")
    client = session().client(
        SERVICE,
        region_name="us-east-1",
        endpoint_url="http://127.0.0.1:1/",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    assert client.meta.service_model.operation_names
    assert client.can_paginate("list_hits")
