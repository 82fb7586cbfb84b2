import contextlib
import json
from typing import Any

import pytest
from botocore.serialize import create_serializer
from botocore.session import get_session
from hypothesis import given
from hypothesis import strategies as st

from hits.server.protocol.wire import WireError, WireProtocol, parse_json
from hits.server.store.records import RefusedError

PROTOCOL = WireProtocol()
HIT_TYPE: dict[str, Any] = {
    "Title": "t",
    "Description": "d",
    "Reward": "0.05",
    "AssignmentDurationInSeconds": 60,
}


def parse(operation: str, value: Any) -> dict[str, Any]:
    return PROTOCOL.parse(operation, json.dumps(value).encode())


def test_all_operations_of_the_service_are_known() -> None:
    assert len(PROTOCOL.operations) == 39
    assert PROTOCOL.operation("MTurkRequesterServiceV20170117.CreateHIT") == "CreateHIT"


@pytest.mark.parametrize(
    "target", ["", "CreateHIT", "Other.CreateHIT", "MTurkRequesterServiceV20170117.Nonsense", "é" * 500]
)
def test_unknown_targets(target: str) -> None:
    with pytest.raises(WireError) as error:
        PROTOCOL.operation(target)
    assert error.value.kind == "UnknownOperationException"
    assert error.value.status == 400


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        ("GetHIT", {}),
        ("GetHIT", {"HITId": None}),
        ("GetHIT", {"HITId": 3}),
        ("GetHIT", {"HITId": ""}),
        ("GetHIT", {"HITId": "3abc"}),
        ("GetHIT", {"HITId": "3ABC\n"}),
        ("GetHIT", {"HITId": "3" * 65}),
        ("GetHIT", {"HITId": "3ABC", "Extra": 1}),
        ("CreateWorkerBlock", {"WorkerId": "B1", "Reason": "r"}),
        ("CreateHITType", HIT_TYPE | {"Reward": "abc"}),
        ("CreateHITType", HIT_TYPE | {"Reward": 0.05}),
        ("CreateHITType", HIT_TYPE | {"Reward": "0.055"}),
        ("CreateHITType", HIT_TYPE | {"Reward": "-1"}),
        ("CreateHITType", HIT_TYPE | {"AssignmentDurationInSeconds": "60"}),
        ("CreateHITType", HIT_TYPE | {"AssignmentDurationInSeconds": 60.5}),
        ("CreateHITType", HIT_TYPE | {"AssignmentDurationInSeconds": True}),
        ("CreateHITType", HIT_TYPE | {"AssignmentDurationInSeconds": 2**63}),
        ("CreateHITType", HIT_TYPE | {"Title": "a\0b"}),
        ("CreateHITType", HIT_TYPE | {"Title": "\ud800"}),
        ("CreateHITType", HIT_TYPE | {"QualificationRequirements": {}}),
        ("CreateHITType", HIT_TYPE | {"QualificationRequirements": ["x"]}),
        ("CreateHITType", HIT_TYPE | {"QualificationRequirements": [{"QualificationTypeId": "3A"}]}),
        (
            "CreateHITType",
            HIT_TYPE
            | {"QualificationRequirements": [{"QualificationTypeId": "3A", "Comparator": "Roughly"}]},
        ),
        (
            "CreateHITType",
            HIT_TYPE
            | {
                "QualificationRequirements": [
                    {
                        "QualificationTypeId": "3A",
                        "Comparator": "EqualTo",
                        "LocaleValues": [{"Country": "USA"}],
                    }
                ]
            },
        ),
        ("ListHITs", {"MaxResults": 0}),
        ("ListHITs", {"MaxResults": 101}),
        ("ListHITs", {"NextToken": ""}),
        ("ListHITs", {"NextToken": "x" * 256}),
        ("ListAssignmentsForHIT", {"HITId": "3A", "AssignmentStatuses": ["Accepted"]}),
        ("ApproveAssignment", {"AssignmentId": "3A", "OverrideRejection": "yes"}),
        (
            "CreateHITWithHITType",
            {"HITTypeId": "3A", "LifetimeInSeconds": 60, "UniqueRequestToken": "x" * 65},
        ),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": "tomorrow"}),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": 1e300}),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": [1]}),
        ("NotifyWorkers", {"Subject": "s", "MessageText": "m", "WorkerIds": ["A1", "b"]}),
    ],
)
def test_what_breaks_the_description_is_refused(operation: str, value: Any) -> None:
    with pytest.raises(RefusedError) as error:
        parse(operation, value)
    assert error.value.code == "AWS.ParameterValidationFailed"


def test_members_that_are_null_are_left_out() -> None:
    assert parse("ListHITs", {"NextToken": None, "MaxResults": 7}) == {"MaxResults": 7}
    assert PROTOCOL.parse("ListHITs", b"") == {}


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (1420070400, 1420070400),
        (1420070400.9, 1420070400),
        ("2015-01-01T00:00:00Z", 1420070400),
        ("2015-01-01T01:00:00+01:00", 1420070400),
        ("2015-01-01T00:00:00", 1420070400),
        (0, 0),
    ],
)
def test_times(sent: Any, seconds: int) -> None:
    assert parse("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": sent})["ExpireAt"] == seconds


def test_what_botocore_sends_is_understood() -> None:
    """Serialised by botocore itself, every kind of member arrives as it was."""
    model = get_session().get_service_model("mturk")
    given_members = HIT_TYPE | {
        "LifetimeInSeconds": 60,
        "Question": "ü <x>",
        "UniqueRequestToken": "token",
        "QualificationRequirements": [
            {
                "QualificationTypeId": "3A",
                "Comparator": "In",
                "IntegerValues": [1, 2],
                "RequiredToPreview": True,
            }
        ],
    }
    sent = create_serializer("json").serialize_to_request(given_members, model.operation_model("CreateHIT"))
    assert PROTOCOL.operation(sent["headers"]["X-Amz-Target"]) == "CreateHIT"
    assert PROTOCOL.parse("CreateHIT", sent["body"]) == given_members


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"x"',
        b"nothing",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1e999}',
        b'{"a": 1, "a": 2}',
        b"\xff\xfe",
        b'{"a": "\xc3\x28"}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": ' + b"[" * 200_000,
        b'{"a": ' + b'{"a": ' * 200_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_broken_json(body: bytes) -> None:
    with pytest.raises(WireError) as error:
        parse_json(body)
    assert error.value.kind == "SerializationException"


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_an_error(body: bytes) -> None:
    with contextlib.suppress(WireError):
        assert isinstance(parse_json(body), dict)


def test_answers_hold_legal_members_only() -> None:
    body = PROTOCOL.serialise(
        "GetHIT", {"HIT": {"HITId": "3A", "CreationTime": 5, "RequesterAnnotation": None}}
    )
    assert json.loads(body) == {"HIT": {"HITId": "3A", "CreationTime": 5}}
    with pytest.raises(KeyError):
        PROTOCOL.serialise("GetHIT", {"HIT": {"Colour": "red"}})
    with pytest.raises(KeyError):
        PROTOCOL.serialise("DeleteHIT", {"HIT": {}})
    assert PROTOCOL.serialise("DeleteHIT", {}) == b"{}"
