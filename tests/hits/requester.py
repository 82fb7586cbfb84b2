"""What tests of the endpoint do as a requester, through the real client."""

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any


def create(client: Any, market: LocalMarket, **changes: Any) -> str:
    return str(client.create_hit(**market.request(**changes))["HIT"]["HITId"])


def status(client: Any, hit: str) -> str:
    return str(client.get_hit(HITId=hit)["HIT"]["HITStatus"])


def refused(call: Any, **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as error:
        call(**request)
    response = error.value.response
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert response["Error"]["Code"] == "RequestError"
    return response["TurkErrorCode"].removeprefix("AWS.MechanicalTurk."), response["Error"]["Message"]
