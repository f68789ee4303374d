"""Connection settings of a program: from its command line, the environment and a properties file.

Every user of the machine can read a command line, so passwords come from the environment or the file.
``--bootstrap`` overrides the environment, and the environment overrides the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.settings import SECURITY, WITH_PASSWORD, check_security
from kafka_assignors.validators import is_port, known_names, one_of, wrong

ENVIRONMENT = "KAFKA_ASSIGNORS_"
"""Prefix of environment variables, before a setting in capitals: ``KAFKA_ASSIGNORS_SASL_PLAIN_PASSWORD``."""

_FILES = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_crlfile")
# A properties file cannot have these, because their values may be objects.
_OBJECTS = ("sasl_kerberos_name", "sasl_oauth_token_provider", "ssl_context")
_OF_SECURITY = tuple(name for name in SECURITY if name not in _OBJECTS)
_SETTINGS = ("bootstrap_servers", "client_id", "proxy_url", *_OF_SECURITY)
_MECHANISMS = (*WITH_PASSWORD, "GSSAPI", "AWS_MSK_IAM")

# librdkafka's name of a setting (with underscores) -> kafka-python's name.
_OTHER_NAMES = {
    "sasl_mechanisms": "sasl_mechanism",
    "sasl_username": "sasl_plain_username",
    "sasl_password": "sasl_plain_password",
    "ssl_ca_location": "ssl_cafile",
    "ssl_certificate_location": "ssl_certfile",
    "ssl_key_location": "ssl_keyfile",
    "ssl_key_password": "ssl_password",
    "ssl_crl_location": "ssl_crlfile",
}
_JAAS = {
    f"sasl_plain_{name}": re.compile(rf"""\b{name}\s*=\s*(?:(["'])((?:(?!\1)[^\\]|\\.)*)\1|([\w$.-]+))""")
    for name in ("username", "password")
}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def connection_settings(
    bootstrap: str | None, properties: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, Any]:
    """Build keyword arguments for kafka-python's clients.

    Args:
        bootstrap: ``host:port``, separated by commas.
        properties: entries of a file, with kafka-python's, Java's or librdkafka's names, with dots or
            underscores.  Only servers, client id, proxy and security are used; others are ignored.  Java's
            key and trust stores are refused.
        environment: environment variables.

    Raises:
        OptionError: a wrong or missing setting, or an unknown one about security.  Never shows a secret.
    """
    settings: dict[str, Any] = {}
    for key, value in properties.items():
        settings |= _setting(key.replace(".", "_"), value)
    for key, value in sorted(environment.items()):
        if key.startswith(ENVIRONMENT):
            settings |= _setting(key.removeprefix(ENVIRONMENT).lower(), value)
    if bootstrap is not None:
        settings["bootstrap_servers"] = bootstrap
    if "security_protocol" in settings:  # librdkafka's values are in lower case
        settings["security_protocol"] = settings["security_protocol"].upper()
    settings["bootstrap_servers"] = _addresses(settings.get("bootstrap_servers"))
    if isinstance(check := settings.get("ssl_check_hostname"), str):
        settings["ssl_check_hostname"] = (
            one_of("ssl_check_hostname", check.lower(), ("true", "false")) == "true"
        )
    for name in _FILES:
        if name in settings and not _is_readable(settings[name]):
            first_line, _, _ = settings[name].partition("\n")  # the value may be a key instead of its file
            raise OptionError(name, f"no readable file {first_line!r}")
    if settings.get("security_protocol", "").startswith("SASL") and settings.get("sasl_mechanism"):
        one_of("sasl_mechanism", settings["sasl_mechanism"], _MECHANISMS)
    check_security(settings)
    return settings


def _is_readable(path: str) -> bool:
    try:
        return Path(path).is_file() and os.access(path, os.R_OK)
    except OSError:  # the path is too long, or a folder of it is not accessible
        return False


def _setting(name: str, value: str) -> dict[str, Any]:
    """Convert an entry of the file or the environment to settings; {} if it is not about the connection."""
    name = _OTHER_NAMES.get(name, name)
    if name in _SETTINGS:
        return {name: value}
    if name == "sasl_jaas_config":  # Java's user and password
        matches = ((setting, pattern.search(value)) for setting, pattern in _JAAS.items())
        return {
            setting: re.sub(r"\\(.)", r"\1", match[2] or match[3] or "")
            for setting, match in matches
            if match
        }
    if name == "ssl_endpoint_identification_algorithm":  # off: "" in Java, "none" in librdkafka
        return {"ssl_check_hostname": value.lower() not in ("", "none")}
    if name.startswith(("ssl_", "sasl_", "security_")):
        # Ignoring a misspelt setting would connect with less security than the user asked for.
        known_names([name], _OF_SECURITY)
    return {}


def _addresses(value: str | None) -> list[str]:
    if value is None:
        raise OptionError(
            "bootstrap_servers", "missing: give --bootstrap HOST:PORT, or --config FILE with it"
        )
    addresses = [address.strip() for address in value.split(",")]
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not (host and is_port(port)):
            raise wrong("bootstrap_servers", "HOST:PORT", address)
    return addresses


def read_properties(text: str) -> dict[str, str]:
    """Parse a properties file as Java does: comments, continued lines and escapes."""
    entries: dict[str, str] = {}
    logical = ""
    # A byte order mark would hide the first setting.
    for line in (*re.split(r"\r\n|[\r\n]", text.removeprefix("\ufeff")), ""):
        rest = line.lstrip(" \t\f")
        if not logical and rest.startswith(("#", "!")):
            continue
        logical += rest
        if (len(logical) - len(logical.rstrip("\\"))) % 2:  # an odd number of backslashes continues the line
            logical = logical[:-1]
            continue
        if match := re.match(r"((?:[^ \t\f=:\\]|\\.)+)[ \t\f]*[=:]?[ \t\f]*(.*)", logical, re.DOTALL):
            entries[_unescaped(match[1])] = _unescaped(match[2])
        logical = ""
    return entries


def _unescaped(text: str) -> str:
    units = re.sub(
        r"\\(u([0-9a-fA-F]{4})|.)",
        lambda m: chr(int(m[2], 16)) if m[2] else _ESCAPES.get(m[1], m[1]),
        text,
        flags=re.DOTALL,
    )
    # Two escapes may be the two halves of one character.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
