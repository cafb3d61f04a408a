"""A deadline as an instructor types it: a time, and a zone that everybody reads alike."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, available_timezones

_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[ T](?P<hour>\d\d:\d\d(?::\d\d)?)(?: ?(?P<offset>[+-]\d\d(?::?\d\d)?|Z)| (?P<zone>[A-Za-z][\w+/-]*))?)?"
)
FORMS = '"2030-05-10 12:00 UTC", "2030-05-10 12:00 Europe/Berlin" or "2030-05-10T12:00+02:00"'


def moment(text: str) -> datetime:
    """Return the time that a text says, in UTC and without a zone, as nbgrader keeps it. No zone means UTC.

    Raises ValueError with the end of a sentence: zones have names of IANA's, because CST is several.
    """
    if (found := _TIME.fullmatch(text)) is None:
        raise ValueError("is no time that everybody reads alike")
    zone = _zone(found["zone"] or "UTC", found["offset"] or "")
    try:
        when = datetime.fromisoformat(f"{found['day']} {found['hour'] or '00:00'}").replace(tzinfo=zone)
        changing = when.utcoffset() != when.replace(fold=1).utcoffset()
        there = when.astimezone(timezone.utc).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise ValueError("is no time") from error
    if changing:
        raise ValueError("is in the hour of a clock change, and comes twice or not at all: write its offset")
    return there


def _zone(name: str, offset: str) -> tzinfo:
    if digits := re.sub(r"\D", "", offset):
        hours, minutes = int(digits[:2]), int(digits[2:] or 0)
        if hours < 24 and minutes < 60:
            return timezone((-1 if offset[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))
        raise ValueError("has no offset that there is")
    if name == "UTC":
        return timezone.utc
    if name not in available_timezones():
        raise ValueError(f"names a zone, {name}, that this machine does not know")
    return ZoneInfo(name)
