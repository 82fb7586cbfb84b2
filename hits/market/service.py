"""The requester's protocol as botocore wants it described, made from our own table, ``data/mturk.toml``.

boto3 ships a description of Mechanical Turk as long as it likes; the service itself is closed. Server and client
load this one instead: operations, shapes and limits, no more.
"""

from functools import cache
from importlib.resources import files
from typing import Any

from rypt.strict import parse_toml

SERVICE = "mturk"
ERRORS = {"ServiceFault": {"exception": True, "fault": True}, "RequestError": {"exception": True}}
PAGING = {"input_token": "NextToken", "output_token": "NextToken", "limit_key": "MaxResults"}
ENDPOINTS = {  # clients are told their endpoint; there is none to find
    "version": "1.0",
    "parameters": {
        "Region": {"builtIn": "AWS::Region", "required": False, "documentation": "", "type": "String"},
        "UseDualStack": {
            "builtIn": "AWS::UseDualStack",
            "required": True,
            "default": False,
            "documentation": "",
            "type": "Boolean",
        },
        "UseFIPS": {
            "builtIn": "AWS::UseFIPS",
            "required": True,
            "default": False,
            "documentation": "",
            "type": "Boolean",
        },
        "Endpoint": {"builtIn": "SDK::Endpoint", "required": False, "documentation": "", "type": "String"},
    },
    "rules": [
        {
            "conditions": [{"fn": "isSet", "argv": [{"ref": "Endpoint"}]}],
            "endpoint": {"url": {"ref": "Endpoint"}, "properties": {}, "headers": {}},
            "type": "endpoint",
        },
        {"conditions": [], "error": "expected the URL of an endpoint", "type": "error"},
    ],
}


@cache
def _table() -> dict[str, Any]:
    return parse_toml((files("hits.market") / "data" / "mturk.toml").read_text(encoding="utf-8"))


def description() -> dict[str, Any]:
    """The service in botocore's form: metadata, operations and shapes."""
    table = _table()
    service = table["service"]
    return {
        "version": "2.0",
        "metadata": {**service, "protocols": [service["protocol"]], "auth": ["aws.auth#sigv4"]},
        "operations": {name: _operation(name, facts) for name, facts in table["operations"].items()},
        "shapes": {
            **table["values"],
            **{name: _list(facts) for name, facts in table["lists"].items()},
            **{name: _structure(name, members) for name, members in table["structures"].items()},
        },
    }


def paginators() -> dict[str, Any]:
    """The operations whose answers come in pages."""
    operations = _table()["operations"].items()
    return {name: {**PAGING, "result_key": facts["pages"]} for name, facts in operations if "pages" in facts}


def _operation(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "http": {"method": "POST", "requestUri": "/"},
        "input": {"shape": f"{name}Request"},
        "output": {"shape": f"{name}Response"},
        "errors": [{"shape": error} for error in ERRORS],
        **({"idempotent": True} if facts.get("again") else {}),
    }


def _list(facts: dict[str, Any]) -> dict[str, Any]:
    limits = {name: number for name, number in facts.items() if name != "of"}
    return {"type": "list", "member": {"shape": facts["of"]}, **limits}


def _structure(name: str, members: dict[str, str]) -> dict[str, Any]:
    required = [member for member, kind in members.items() if kind.endswith("!")]
    shape = {
        "type": "structure",
        "members": {member: {"shape": kind.removesuffix("!")} for member, kind in members.items()},
        **ERRORS.get(name, {}),
    }
    return {**shape, "required": required} if required else shape


def session() -> Any:
    """A boto3 session whose clients of this service are made from our description."""
    import boto3
    import botocore.session
    from botocore.loaders import Loader

    class OwnLoader(Loader):  # type: ignore[misc]
        """botocore's loader, but for this one service."""

        def list_available_services(self, type_name: str) -> list[str]:
            """All services of botocore, and this one."""
            return sorted({*super().list_available_services(type_name), SERVICE})

        def list_api_versions(self, service_name: str, type_name: str) -> list[str]:
            """The versions of a service."""
            if service_name == SERVICE:
                return [_table()["service"]["apiVersion"]]
            return list(super().list_api_versions(service_name, type_name))

        def load_service_model(
            self, service_name: str, type_name: str, api_version: str | None = None
        ) -> Any:
            """A description; of this service, ours."""
            if service_name != SERVICE:
                return super().load_service_model(service_name, type_name, api_version)
            if type_name == "service-2":
                return description()
            return {"pagination": paginators()} if type_name == "paginators-1" else ENDPOINTS

    core = botocore.session.get_session()
    loader = OwnLoader()
    core.register_component("data_loader", loader)
    return boto3.Session(botocore_session=core)
