"""A client for Dibs, the registry of names that belong to one owner.

It needs nothing but Python's standard library. :class:`Dibs` is for threads, :class:`AsyncDibs`
has the same verbs for asyncio::

    dibs = Dibs("http://localhost:8080")
    with dibs.hold("slug", "Alice & Bob") as hold:
        wedding = save_wedding(hold.canonical)
        hold.confirm_for("wedding", wedding.id)

Every method raises :class:`DibsError` if it does not succeed; ``error.code`` says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import http.client
import json
import random
import re
import secrets
import select
import socket
import ssl
import threading
import time
import typing
import urllib.parse
import warnings
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Optional, Sequence, Type, TypeVar, Union

__all__ = [
    "Activity",
    "ActivityBucket",
    "AsyncDibs",
    "Availability",
    "Conflict",
    "Deleted",
    "Dibs",
    "DibsError",
    "Entity",
    "EntityInfo",
    "EntityState",
    "Event",
    "EventsPage",
    "Failure",
    "Grant",
    "Hold",
    "Holder",
    "HoldError",
    "Holding",
    "Imported",
    "Key",
    "Name",
    "NameCount",
    "NamesPage",
    "Refusal",
    "Resolution",
    "Result",
    "Snapshot",
    "Stats",
    "Unsure",
    "new_token",
]
__version__ = "0.1.0"

T = TypeVar("T")


def new_token() -> str:
    """Returns a token for a hold: random, and a secret. Choose it before the call to be able to repeat it."""
    return secrets.token_hex(20)


# What the registry answers. Fields are named as in the API, in snake case; those that an answer
# does not have are None.


@dataclasses.dataclass(frozen=True)
class Entity:
    """An entity of your own that owns names."""

    type: str
    id: str


@dataclasses.dataclass(frozen=True)
class Name:
    """A name as the registry has it."""

    reservation_id: str
    key: str
    namespace: str
    value: str
    canonical: str
    status: str
    state: str
    epoch: int
    entity: Optional[Entity] = None
    version: Optional[int] = None
    archived: bool = False
    created_at: Optional[datetime.datetime] = None
    confirmed_at: Optional[datetime.datetime] = None
    expires_at: Optional[datetime.datetime] = None
    ended_at: Optional[datetime.datetime] = None
    until: Optional[datetime.datetime] = None
    remaining_ms: Optional[int] = None
    correlation_id: Optional[str] = None
    meta: Optional[Dict[str, str]] = None
    doubt: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Hold(Name):
    """A name that is held, with the token that proves it. Keep the token: the registry does not store it."""

    token: str = dataclasses.field(default="", repr=False)
    replayed: bool = False


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why a value is not valid: which rule, where, and what would be accepted."""

    rule: str
    problem: str
    at: int
    try_: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Failure:
    """One part of a request that failed."""

    index: Optional[int] = None
    location: Optional[str] = None
    field: Optional[str] = None
    code: Optional[str] = None
    reason: Optional[str] = None
    detail: Optional[str] = None
    key: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Availability:
    """Whether a value could be reserved."""

    value: str
    available: bool
    canonical: Optional[str] = None
    reason: Optional[str] = None
    detail: Optional[str] = None
    until: Optional[datetime.datetime] = None
    suggestions: Optional[List[str]] = None
    refusal: Optional[Refusal] = None


@dataclasses.dataclass(frozen=True)
class Resolution:
    """Where a name leads: ``outcome`` is active, moved, gone or not_found."""

    outcome: str
    status: int
    canonical: Optional[str] = None
    entity: Optional[Entity] = None
    to: Optional[str] = None
    active: Optional[Name] = None
    until: Optional[datetime.datetime] = None
    archived: bool = False


@dataclasses.dataclass(frozen=True)
class EntityInfo:
    """An entity with its names."""

    entity: Entity
    archived: bool
    version: int
    names: List[Name]
    more: Optional[bool] = None


@dataclasses.dataclass(frozen=True)
class NamesPage:
    """A page of names, and the cursor of the next one."""

    names: List[Name]
    next_cursor: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A name before or after an event."""

    state: Optional[str] = None
    status: Optional[str] = None
    entity: Optional[Entity] = None


@dataclasses.dataclass(frozen=True)
class Event:
    """What happened. ``cursor`` is the place in the feed after it."""

    cursor: str
    kind: str
    at: datetime.datetime
    key: Optional[str] = None
    namespace: Optional[str] = None
    canonical: Optional[str] = None
    reservation_id: Optional[str] = None
    entity: Optional[Entity] = None
    epoch: Optional[int] = None
    version: Optional[int] = None
    actor: Optional[str] = None
    correlation_id: Optional[str] = None
    meta: Optional[Dict[str, str]] = None
    before: Optional[Snapshot] = None
    after: Optional[Snapshot] = None
    value: Optional[str] = None
    revision: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class EventsPage:
    """A page of the feed."""

    events: List[Event]
    next_cursor: Optional[str] = None
    more: Optional[bool] = None


@dataclasses.dataclass(frozen=True)
class Holder:
    """Who had a name at a time."""

    state: str
    entity: Optional[Entity] = None
    epoch: Optional[int] = None
    since: Optional[datetime.datetime] = None


@dataclasses.dataclass(frozen=True)
class Result:
    """What a command did, or would do."""

    names: List[Name]
    replayed: bool = False
    token: Optional[str] = dataclasses.field(default=None, repr=False)
    version: Optional[int] = None
    freed: Optional[List[str]] = None
    quarantined: Optional[List[str]] = None
    pending: Optional[bool] = None
    events: Optional[List["Event"]] = None


@dataclasses.dataclass(frozen=True)
class Imported:
    """What became of a name that was brought from another system: ``imported``, ``unchanged`` or ``refused``."""

    outcome: str
    name: Optional[Name] = None
    refused: Optional[Failure] = None


@dataclasses.dataclass(frozen=True)
class EntityState:
    """An entity after it was archived or restored."""

    entity: Entity
    archived: bool
    version: int
    replayed: bool = False


@dataclasses.dataclass(frozen=True)
class Deleted:
    """The keys that a delete gave up."""

    freed: List[str]
    quarantined: List[str]


@dataclasses.dataclass(frozen=True)
class NameCount:
    """The number of names of a namespace in a state."""

    namespace: str
    state: str
    count: int


@dataclasses.dataclass(frozen=True)
class Stats:
    """The number of names."""

    names: List[NameCount]
    ending_soon: int
    suspects: int


@dataclasses.dataclass(frozen=True)
class Conflict:
    """The refused attempts of one namespace, reason and hour."""

    start: datetime.datetime
    namespace: str
    reason: str
    count: int


@dataclasses.dataclass(frozen=True)
class Grant:
    """Verbs, or groups of verbs such as ``read``, that are allowed in namespaces, or patterns of them such as ``acme.*``."""

    verbs: List[str]
    namespaces: List[str]


@dataclasses.dataclass(frozen=True)
class Key:
    """An API key. ``secret`` is set only by the call that makes it; ``declared_in`` if it is in the server's configuration."""

    name: str
    grants: List[Grant]
    prefix: Optional[str] = None
    created_at: Optional[datetime.datetime] = None
    created_by: Optional[str] = None
    expires_at: Optional[datetime.datetime] = None
    declared_in: Optional[str] = None
    secret: Optional[str] = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True)
class ActivityBucket:
    """What happened in one namespace, in one minute or hour: events by kind, and refused attempts."""

    start: datetime.datetime
    namespace: str
    events: Dict[str, int]
    refused: int


@dataclasses.dataclass(frozen=True)
class Activity:
    """What happened, by namespace and minute or hour. A bucket in which nothing happened is absent."""

    bucket: str
    from_: datetime.datetime
    to: datetime.datetime
    buckets: List[ActivityBucket]


class DibsError(Exception):
    """An answer of the registry that is no success, or no answer at all.

    ``code`` is for programs. After UNAVAILABLE nothing happened: try again later. After
    OUTCOME_UNKNOWN it may have happened: with a token of your own the same call again is safe.
    After any other code the registry has decided. ``problem`` is the problem document (RFC 9457), to
    pass on to a client of your own.
    """

    def __init__(self, code: str, detail: str, status: int = 0, problem: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(f"{code}: {detail}")
        problem = problem or {"code": code, "detail": detail, "status": status}
        self.problem: Dict[str, Any] = problem
        self.code = code
        self.detail = detail
        self.status = status
        self.field: Optional[str] = problem.get("field")
        self.key: Optional[str] = problem.get("key")
        self.reason: Optional[str] = problem.get("reason")
        self.suggestions: List[str] = problem.get("suggestions") or []
        self.until: Optional[datetime.datetime] = _convert(Optional[datetime.datetime], problem.get("until"))
        self.refusal: Optional[Refusal] = _convert(Optional[Refusal], problem.get("refusal"))
        self.errors: List[Failure] = _read_list(Failure, problem.get("errors") or [])


class Unsure(Exception):
    """Raise it inside a hold if it is unknown whether the entity was saved: the hold then stays for its witness."""


class HoldError(Exception):
    """A hold that was left behind, with its token: its block was unsure, or its entity is saved and the name is not confirmed.

    ``lost`` is why the hold could not be extended, if that is why: FORBIDDEN, for example, if the key lacks the right ``extend``.
    """

    def __init__(self, holds: List[Hold], entity: Optional[Entity], cause: object, lost: Optional[Exception] = None) -> None:
        keys = ", ".join(h.key for h in holds)
        why = f"{cause}; the hold could not be extended: {lost}" if lost else str(cause)
        super().__init__(
            f"{entity.type}/{entity.id} was saved, but {keys} is not confirmed: {why}"
            if entity
            else f"{keys} stays held, because it is unknown whether its entity was saved: {why}"
        )
        self.holds = holds
        self.entity = entity
        self.lost = lost


# JSON, both ways.

_FIELDS: Dict[type, Dict[str, Any]] = {}


def _camel(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def _read(kind: Type[T], data: Any) -> T:
    """Returns JSON data as a type. Members that the type does not have are left out: a later server may send more."""
    return typing.cast(T, _convert(kind, data))


def _read_list(kind: Type[T], data: Any) -> List[T]:
    return [_read(kind, item) for item in data or []]


def _convert(kind: Any, data: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin is Union:
        return None if data is None else _convert(next(k for k in typing.get_args(kind) if k is not type(None)), data)
    if origin in (list, List):
        return [_convert(typing.get_args(kind)[0], item) for item in data or []]
    if kind is datetime.datetime:
        return datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))
    if dataclasses.is_dataclass(kind):
        if kind not in _FIELDS:
            _FIELDS[kind] = {name: (_camel(name), hint) for name, hint in typing.get_type_hints(kind).items()}
        return kind(**{name: _convert(hint, data[member]) for name, (member, hint) in _FIELDS[kind].items() if member in data})
    return data


def _body(**members: Any) -> Dict[str, Any]:
    """Returns a body with the members that are given, in camel case."""
    return {_camel(name): _plain(value) for name, value in members.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, (Entity, Grant)):
        return dataclasses.asdict(value)
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, dict):
        return {name: _plain(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _part(text: str) -> str:
    """Returns a part of a path. Servers resolve dots as in a file system, also encoded ones."""
    if text in (".", ".."):
        raise ValueError(f"a path cannot contain {text}: use apply")
    return urllib.parse.quote(text, safe="")


# The transport.

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_ALONE = re.compile(r"^1 of 1 refused, none was done; number 1: ")  # says nothing to whom asked for one
_TRY_AGAIN = ("UNAVAILABLE", "OUTCOME_UNKNOWN", "TOO_MANY_REQUESTS")
_SAYS_NOTHING = ("INTERNAL", "UNAUTHORIZED", "FORBIDDEN", "UNAVAILABLE", "TOO_MANY_REQUESTS")  # about what an earlier attempt has done


def _is_readable(sock: socket.socket) -> bool:
    """Reports whether there is something to read, or the end. select() cannot do it for more than 1,024 files."""
    if not hasattr(select, "poll"):  # Windows, where select() has no such limit
        return bool(select.select([sock], [], [], 0)[0])
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class _Http:
    """Sends requests over a connection for each thread, and repeats those that may be repeated."""

    def __init__(self, url: str, key: Union[str, Callable[[], str], None], timeout: float, context: Optional[ssl.SSLContext]) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the URL of a server: write https://host, or http://host:8080")
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.base = parts.path.rstrip("/")
        self.key, self.timeout, self.context = key, timeout, context
        self.local = threading.local()

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        if self.secure:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def headers(self, accept: str) -> Dict[str, str]:
        key = self.key() if callable(self.key) else self.key
        return {"Accept": accept, **({"Authorization": f"Bearer {key}"} if key else {})}

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Optional[Dict[str, Any]] = None,
        headers: Optional[Dict[str, str]] = None,
        repeatable: bool = False,
        reads: bool = False,
        answers: Sequence[int] = (),
        timeout: Optional[float] = None,
    ) -> Any:
        """Makes a call and returns the JSON of its answer. What only reads is repeatable."""
        reads = reads or method == "GET"
        repeatable = repeatable or reads
        given = {_camel(k): str(_plain(v)) for k, v in (query or {}).items() if v is not None}
        target = self.base + path + ("?" + urllib.parse.urlencode(given) if given else "")
        deadline = time.monotonic() + min(self.timeout, self.timeout if timeout is None else timeout)
        pause, maybe = _FIRST_PAUSE, False
        while True:
            after, sent = 0.0, False
            try:
                all_headers = {**self.headers("application/json"), **(headers or {})}
                connection = self._connected(deadline)
                sent = True
                answer = self._attempt(connection, method, target, body, all_headers)
                error, unsure, after = self._judge(*answer, reads=reads, answers=answers)
                if error is None:
                    return unsure  # the body
            except (OSError, http.client.HTTPException) as cause:
                self.drop()
                error, unsure = DibsError("UNAVAILABLE", f"the server cannot be reached: {cause!r}"), sent and not reads
                error.__cause__ = cause
            maybe = maybe or bool(unsure)
            again = error.code in _TRY_AGAIN and (repeatable or not unsure)
            wait = max(pause * (0.5 + random.random()), after)
            if again and time.monotonic() + wait < deadline:
                time.sleep(wait)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            if maybe and error.code in _SAYS_NOTHING:
                raise DibsError("OUTCOME_UNKNOWN", f"the call may have been done: {error.detail}") from error
            if error.code == "UNAVAILABLE" and not error.status:
                raise DibsError("UNAVAILABLE", f"nothing happened: {error.detail}") from error.__cause__
            raise error

    def _connected(self, deadline: float) -> http.client.HTTPConnection:
        """Returns the open connection of this thread. If it raises, nothing was sent."""
        left = max(0.001, deadline - time.monotonic())
        connection = getattr(self.local, "connection", None)
        if connection is not None and connection.sock is not None and _is_readable(connection.sock):
            self.drop()  # the server has closed it: nothing else comes before a request
            connection = None
        if connection is None:
            connection = self.local.connection = self.connect(left)
        if connection.sock is None:
            connection.timeout = left
            connection.connect()
        else:
            connection.sock.settimeout(left)
        return typing.cast(http.client.HTTPConnection, connection)

    def _attempt(
        self, connection: http.client.HTTPConnection, method: str, target: str, body: Any, headers: Dict[str, str]
    ) -> "tuple[int, Any, bytes]":
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers = {**headers, "Content-Type": "application/json"}
        connection.request(method, target, body=data, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    def _judge(
        self, status: int, headers: Any, text: bytes, *, reads: bool, answers: Sequence[int]
    ) -> "tuple[Optional[DibsError], Any, float]":
        """Returns the error of an answer, whether the call may have been done, and the pause that the server asks for; or no error and the body."""
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        if status < 300 and (headers.get("Content-Type") or "").lower().startswith("application/problem+json"):
            body = None  # a proxy has changed the status of an error
        if isinstance(body, dict) and (status < 300 or (status in answers and "outcome" in body)):
            return None, body, 0
        after = float(headers.get("Retry-After") or 0) if (headers.get("Retry-After") or "0").isdigit() else 0.0
        if isinstance(body, dict) and isinstance(body.get("code"), str) and isinstance(body.get("detail"), str):
            body["detail"] = _ALONE.sub("", body["detail"])
            if body["code"] == "INTERNAL" and not reads:
                unknown = DibsError("OUTCOME_UNKNOWN", f"the call may have been done: {body['detail']}", status)
                return unknown, True, after
            return DibsError(body["code"], body["detail"], status, body), body["code"] == "OUTCOME_UNKNOWN", after
        gateway = status in (429, 502, 503, 504)
        error = DibsError(
            "UNAVAILABLE" if gateway else "INTERNAL", f"the answer is not one of a registry (status {status}): check the URL", status
        )
        return error, not reads and status != 429 and (status >= 500 or status < 300), after

    def drop(self) -> None:
        """Closes the connection of this thread."""
        connection = getattr(self.local, "connection", None)
        if connection is not None:
            connection.close()
            self.local.connection = None


class Dibs:
    """A client of a Dibs server, for any number of threads.

    Calls that are safe to repeat are repeated while the server cannot be reached, until ``timeout``
    seconds are over: those that read, those with a token, and those that were never sent. A reserve without a token gets one
    before it is sent. ``key`` is an API key, or a function that returns a token of an issuer.
    """

    def __init__(
        self,
        url: str,
        key: Union[str, Callable[[], str], None] = None,
        *,
        timeout: float = 15.0,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._http = _Http(url, key, timeout, ssl_context)

    def reserve(
        self,
        namespace: str,
        value: str,
        *,
        ttl_ms: Optional[int] = None,
        entity: Optional[Entity] = None,
        token: Optional[str] = None,
        correlation_id: Optional[str] = None,
        meta: Optional[Dict[str, str]] = None,
        field: Optional[str] = None,
        override_reserved: Optional[bool] = None,
    ) -> Hold:
        """Holds a name for a limited time."""
        return _read(
            Hold,
            self._post(
                "/v1/reservations",
                repeatable=True,
                body=_body(
                    namespace=namespace,
                    value=value,
                    ttl_ms=ttl_ms,
                    entity=entity,
                    token=token or new_token(),
                    correlation_id=correlation_id,
                    meta=meta,
                    field=field,
                    override_reserved=override_reserved,
                ),
            ),
        )

    def reserve_all(self, reservations: Sequence[Dict[str, Any]], *, token: Optional[str] = None) -> List[Hold]:
        """Holds several names with one token, all of them or none. Each is a dict with the parameters of :meth:`reserve`."""
        body = _body(reservations=[_body(**r) for r in reservations], token=token or new_token())
        return _read_list(Hold, self._post("/v1/reservations/batch", body, repeatable=True)["reservations"])

    def reserve_first(
        self,
        namespace: str,
        values: Sequence[str],
        *,
        ttl_ms: Optional[int] = None,
        entity: Optional[Entity] = None,
        token: Optional[str] = None,
    ) -> Hold:
        """Holds the first of several candidates that is available."""
        body = _body(namespace=namespace, values=list(values), ttl_ms=ttl_ms, entity=entity, token=token or new_token())
        return _read(Hold, self._post("/v1/reservations/first", body, repeatable=True))

    def extend(self, reservation_id: str, token: str, *, ttl_ms: Optional[int] = None) -> Name:
        """Moves the end of a hold."""
        return self._on_reservation(reservation_id, "extend", _body(token=token, ttl_ms=ttl_ms))

    def confirm(
        self, reservation_id: str, token: str, entity: Entity, *, replace: Optional[bool] = None, replaces: Optional[str] = None
    ) -> Name:
        """Makes a held name the name of an entity."""
        return self._on_reservation(reservation_id, "confirm", _body(token=token, entity=entity, replace=replace, replaces=replaces))

    def release(self, reservation_id: str, token: str) -> Name:
        """Ends a hold."""
        return self._on_reservation(reservation_id, "release", _body(token=token))

    def confirm_all(self, holds: Sequence[Hold], entity: Entity) -> List[Name]:
        """Makes the names that :meth:`reserve_all` held the names of an entity, all of them or none. It is safe to repeat."""
        return self._apply_all("confirm", holds, entity=entity)

    def release_all(self, holds: Sequence[Hold]) -> List[Name]:
        """Ends the holds of :meth:`reserve_all`, all of them or none. If one is over already, the others end by themselves."""
        return self._apply_all("release", holds)

    def _apply_all(self, op: str, holds: Sequence[Hold], **rest: Any) -> List[Name]:
        commands = [{"op": op, "reservation_id": h.reservation_id, "token": h.token, **rest} for h in holds]
        return [result.names[0] for result in self.apply(commands)]

    def settle(self, reservation_id: str, outcome: str, entity: Optional[Entity] = None) -> Name:
        """Ends a suspect: ``outcome`` is "exists" or "absent"."""
        return _read(Name, self._post(f"/v1/reservations/{_part(reservation_id)}/settle", _body(outcome=outcome, entity=entity)))

    def hold(self, namespace: str, value: str, *, ttl_ms: Optional[int] = None, **options: Any) -> "Holding":
        """Holds a name for the block of a ``with`` statement, and extends it meanwhile.

        The block calls ``confirm_for``, and the name is confirmed when the block is over. If the block
        raises, or calls ``release``, the hold is released; if it raises :class:`Unsure`, the hold stays.
        A block that does none of these raises :class:`HoldError`, and the hold stays. To extend, the
        key needs the right ``extend``.
        """
        return Holding(self, [{"namespace": namespace, "value": value, "ttl_ms": ttl_ms, **options}])

    def hold_all(self, reservations: Sequence[Dict[str, Any]], *, token: Optional[str] = None) -> "Holding":
        """The same for several names of one entity, all of them or none."""
        return Holding(self, list(reservations), token)

    def claim(self, namespace: str, value: str, entity: Entity, *, override_reserved: Optional[bool] = None) -> Name:
        """Takes a free name for an entity at once."""
        return _read(
            Name, self._post("/v1/claims", _body(namespace=namespace, value=value, entity=entity, override_reserved=override_reserved))
        )

    def rename(
        self,
        namespace: str,
        value: str,
        entity: Entity,
        *,
        token: Optional[str] = None,
        from_: Optional[str] = None,
        scope: Optional[str] = None,
        if_version: Optional[int] = None,
    ) -> Name:
        """Gives an entity another name, or its first; the old one leads to the new one. ``if_version`` refuses a stale change."""
        headers = {"If-Match": f'"{if_version}"'} if if_version is not None else {}
        path = f"{_entity_path(entity)}/names/{_part(namespace)}"
        return _read(
            Name, self._http.call("PUT", path, _body(value=value, token=token, replaces=from_), query={"scope": scope}, headers=headers)
        )

    def transfer(self, namespace: str, value: str, from_: Entity, to: Entity) -> Name:
        """Gives one name of an entity to another."""
        return _read(Name, self._post(f"{_name_path(namespace, value)}/transfer", _body(from_=from_, to=to)))

    def swap(self, namespace: str, a: "tuple[str, Entity]", b: "tuple[str, Entity]") -> Result:
        """Lets two entities exchange their names; each pair is a name and its owner before it."""
        sides = {name: {"value": value, "entity": entity} for name, (value, entity) in (("a", a), ("b", b))}
        return _read(Result, self._post("/v1/swap", _body(namespace=namespace, **sides)))

    def decommission(self, namespace: str, value: str, entity: Entity) -> Name:
        """Gives up one name of an entity."""
        return _read(Name, self._post(f"{_name_path(namespace, value)}/decommission", _body(entity=entity)))

    def archive(self, entity: Entity, *, scope: Optional[str] = None) -> EntityState:
        """Keeps every name of an entity, and resolves none."""
        return _read(EntityState, self._http.call("POST", _entity_path(entity) + "/archive", query={"scope": scope}))

    def restore(self, entity: Entity, *, scope: Optional[str] = None) -> EntityState:
        """Undoes an archive."""
        return _read(EntityState, self._http.call("POST", _entity_path(entity) + "/restore", query={"scope": scope}))

    def delete(self, entity: Entity, *, scope: Optional[str] = None) -> Deleted:
        """Gives up every name of an entity."""
        answer = self._http.call("DELETE", _entity_path(entity), query={"scope": scope})
        return Deleted(answer.get("freed") or [], answer.get("quarantined") or [])

    def apply(self, commands: Sequence[Dict[str, Any]], *, dry_run: bool = False) -> List[Result]:
        """Applies up to 32 commands, all of them or none: dicts with ``op`` and the command's parameters, in snake case."""
        sent = [_body(**({**c, "token": c.get("token") or new_token()} if c["op"].startswith("reserve") else c)) for c in commands]
        fenced = all(c["op"] in ("reserve", "reserveAll", "reserveFirst", "extend", "confirm", "release") for c in sent)
        return _read_list(Result, self._post("/v1/apply", {"dryRun": dry_run, "commands": sent}, repeatable=fenced, reads=dry_run)["results"])

    def import_names(self, names: Sequence[Dict[str, Any]], *, dry_run: bool = False) -> List[Imported]:
        """Brings names from another system, up to 1,000, each by itself. Repeating it changes nothing. The caller needs the right ``import``.

        A name is a dict with ``namespace``, ``value`` and ``entity``, and if you like ``alias_of``, ``since``,
        ``correlation_id``, ``meta`` and ``override_reserved``.
        """
        body = {"dryRun": dry_run, "names": [_body(**name) for name in names]}
        return _read_list(Imported, self._post("/v1/imports", body, repeatable=True, reads=dry_run)["results"])

    def check(self, namespace: str, value: str, *, suggest: Optional[int] = None) -> Availability:
        """Says whether a value could be reserved. It is a snapshot, not a promise: to get a name, reserve it."""
        return self.check_all(namespace, [value], suggest=suggest)[0]

    def check_all(
        self,
        namespace: str,
        values: Sequence[str],
        *,
        suggest: Optional[int] = None,
        parts: Optional[Sequence[str]] = None,
        entity: Optional[Entity] = None,
    ) -> List[Availability]:
        """The same for up to 100 values."""
        body = _body(namespace=namespace, values=list(values), suggest=suggest, parts=parts, entity=entity)
        return _read_list(Availability, self._post("/v1/check", body, reads=True)["results"])

    def resolve(self, namespace: str, value: str) -> Resolution:
        """Says where a name leads: to an entity, to its present name, or nowhere."""
        return _read(
            Resolution, self._post("/v1/resolve", _body(namespace=namespace, value=value), reads=True, answers=(307, 308, 404, 410))
        )

    def name(self, namespace: str, value: str) -> Optional[Name]:
        """Shows a name, or None if there is none."""
        return _or_none(lambda: _read(Name, self._post("/v1/names/lookup", _body(namespace=namespace, value=value), reads=True)))

    def reservation(self, reservation_id: str) -> Optional[Name]:
        """Shows a reservation, without its token, or None if there is none."""
        return _or_none(lambda: _read(Name, self._http.call("GET", f"/v1/reservations/{_part(reservation_id)}")))

    def entity(self, entity: Entity, *, scope: Optional[str] = None) -> Optional[EntityInfo]:
        """Shows an entity with its names, or None if it never had one."""
        return _or_none(lambda: _read(EntityInfo, self._http.call("GET", _entity_path(entity), query={"scope": scope})))

    def list(
        self,
        namespace: Optional[str] = None,
        *,
        state: Optional[str] = None,
        prefix: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> NamesPage:
        """Lists names, in pages."""
        query = {"namespace": namespace, "state": state, "prefix": prefix, "limit": limit, "cursor": cursor}
        return _read(NamesPage, self._http.call("GET", "/v1/names", query=query))

    def history(self, namespace: str, value: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> EventsPage:
        """The events of a name, oldest first: the last 1,000, or those before the cursor of another page."""
        body = _body(namespace=namespace, value=value, limit=limit, cursor=cursor)
        return _read(EventsPage, self._post("/v1/names/history", body, reads=True))

    def who_held(self, namespace: str, value: str, at: datetime.datetime) -> Holder:
        """Says who had a name at a time."""
        return _read(Holder, self._post("/v1/names/history", _body(namespace=namespace, value=value, at=at), reads=True)["holder"])

    def events(self, *, after: Optional[str] = None, limit: Optional[int] = None, namespace: Optional[str] = None) -> EventsPage:
        """A page of the feed."""
        return _read(EventsPage, self._http.call("GET", "/v1/events", query={"after": after, "limit": limit, "namespace": namespace}))

    def watch(
        self, *, namespace: Optional[str] = None, after: Optional[str] = None, stop: Optional[threading.Event] = None
    ) -> Iterator[Event]:
        """Events as they happen. It goes on after interruptions, misses none and repeats none, until ``stop`` is set.

        ``after`` is the cursor of the last event that was seen, or "latest" for now; without it, it starts at the beginning.
        """
        stop = stop or threading.Event()
        pause = _FIRST_PAUSE
        while not stop.is_set():
            try:
                if after == "latest":
                    after = self.events(after=after).next_cursor  # a stream that is cut early must not skip any
                for message_id, data in self._stream(namespace, after, stop):
                    pause = _FIRST_PAUSE
                    if data:
                        yield _read(Event, json.loads(data))
                    after = message_id or after
            except (OSError, http.client.HTTPException):
                pass  # the connection was lost
            except DibsError as error:
                if error.code not in _TRY_AGAIN:
                    raise
            stop.wait(pause * (0.5 + random.random()))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _stream(self, namespace: Optional[str], after: Optional[str], stop: threading.Event) -> "Iterator[tuple[str, str]]":
        """Yields the messages of one connection. The server sends a sign of life every 5 seconds."""
        query = urllib.parse.urlencode({k: v for k, v in {"namespace": namespace, "after": after}.items() if v})
        connection = self._http.connect(20)
        try:
            connection.request("GET", f"{self._http.base}/v1/events?{query}", headers=self._http.headers("text/event-stream"))
            response = connection.getresponse()
            if response.status != 200 or not (response.headers.get("Content-Type") or "").lower().startswith("text/event-stream"):
                error, _, _ = self._http._judge(response.status, response.headers, response.read(), reads=True, answers=())
                raise error or DibsError("INTERNAL", "the answer is no stream of events: check the URL", response.status)
            message_id, data = "", []  # type: str, List[str]
            while not stop.is_set():
                line = response.readline()
                if not line:
                    return
                text = line.decode("utf-8").rstrip("\r\n")
                field, _, value = text.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if not text:
                    if message_id or data:
                        yield message_id, "\n".join(data)
                    message_id, data = "", []
                elif field == "data":
                    data.append(value)
                elif field == "id":
                    message_id = value
        finally:
            connection.close()

    def stats(self) -> Stats:
        """Counts names by namespace and state."""
        return _read(Stats, self._http.call("GET", "/v1/stats"))

    def conflicts(
        self, namespace: Optional[str] = None, *, from_: Optional[datetime.datetime] = None, to: Optional[datetime.datetime] = None
    ) -> List[Conflict]:
        """Counts refused attempts by namespace, reason and hour."""
        query = {"namespace": namespace, "from_": from_, "to": to}
        return _read_list(Conflict, self._http.call("GET", "/v1/stats/conflicts", query=query)["buckets"])

    def create_key(self, name: str, grants: Sequence[Grant], *, expires_at: Optional[datetime.datetime] = None) -> Key:
        """Makes an API key, and returns it with its secret, once. The caller needs the right keys, and every right that it gives."""
        return _read(Key, self._post("/v1/keys", _body(name=name, grants=list(grants), expires_at=expires_at)))

    def keys(self) -> List[Key]:
        """Lists the API keys that the caller may manage, without their secrets."""
        return _read_list(Key, self._http.call("GET", "/v1/keys")["keys"])

    def revoke_key(self, name: str, *, open: bool = False) -> None:
        """Revokes an API key; the last one only with ``open``."""
        self._http.call("DELETE", f"/v1/keys/{_part(name)}", query={"open": "true" if open else None})

    def activity(
        self,
        namespace: Optional[str] = None,
        *,
        bucket: str = "minute",
        from_: Optional[datetime.datetime] = None,
        to: Optional[datetime.datetime] = None,
    ) -> Activity:
        """Counts what happened: per minute of the last hour, or with bucket="hour" per hour of the last week."""
        query = {"namespace": namespace, "bucket": bucket, "from_": from_, "to": to}
        return _read(Activity, self._http.call("GET", "/v1/stats/activity", query=query))

    def _post(
        self,
        path: str,
        body: Any,
        *,
        repeatable: bool = False,
        reads: bool = False,
        answers: Sequence[int] = (),
        timeout: Optional[float] = None,
    ) -> Any:
        return self._http.call("POST", path, body, repeatable=repeatable, reads=reads, answers=answers, timeout=timeout)

    def _on_reservation(self, reservation_id: str, verb: str, body: Dict[str, Any], timeout: Optional[float] = None) -> Name:
        path = f"/v1/reservations/{_part(reservation_id)}/{verb}"
        return _read(Name, self._post(path, body, repeatable=True, timeout=timeout))


def _entity_path(entity: Entity) -> str:
    return f"/v1/entities/{_part(entity.type)}/{_part(entity.id)}"


def _name_path(namespace: str, value: str) -> str:
    return f"/v1/names/{_part(namespace)}/{_part(value)}"


def _or_none(call: Callable[[], T]) -> Optional[T]:
    try:
        return call()
    except DibsError as error:
        if error.code in ("RESERVATION_NOT_FOUND", "ENTITY_NOT_FOUND"):
            return None
        raise


class Holding:
    """Names that are held for the block of a ``with`` statement; see :meth:`Dibs.hold`."""

    def __init__(self, dibs: Dibs, reservations: List[Dict[str, Any]], token: Optional[str] = None) -> None:
        self._dibs = dibs
        self._reservations = [dict(r) for r in reservations]
        tokens = [r.pop("token", None) for r in self._reservations]
        self._token = token or next((t for t in tokens if t), None)
        self._entity: Optional[Entity] = None
        self._done = threading.Event()
        self._keepers: List[threading.Thread] = []
        self._left: Dict[str, float] = {}  # when each hold is over
        self._latest: Dict[str, Name] = {}  # what the registry said last of each
        self.holds: List[Hold] = []
        #: The confirmed names, once the block is over.
        self.names: List[Name] = []
        #: Set when a hold is lost: the block should end.
        self.lost = threading.Event()
        #: Why: what the last attempt to extend it was answered.
        self.lost_because: Optional[Exception] = None
        self._unwanted = False
        self._lock = threading.Lock()
        self._entered = self._left_early = False  # for asyncio

    def __repr__(self) -> str:
        def shown(name: Name) -> str:
            until = name.until or (name.expires_at if name.state == "held" else None)
            return f"{name.key} {name.state}" + (f" until {until.isoformat()}" if until else "")

        return "Holding(" + ("; ".join(shown(name) for name in self._latest.values()) or "nothing yet") + ")"

    @property
    def canonical(self) -> str:
        """The canonical form of the name, or of the first of several."""
        return self.holds[0].canonical

    def confirm_for(self, type: str, id: str) -> None:
        """Says which entity gets the names, once it is saved. They are confirmed at the end of the block."""
        self._entity, self._unwanted = Entity(type, id), False

    def release(self) -> None:
        """Says that nothing was saved and the names are not wanted. They are released at the end of the block."""
        self._entity, self._unwanted = None, True

    def __enter__(self) -> "Holding":
        asked = time.monotonic()
        if len(self._reservations) == 1:  # a refusal has suggestions then
            self.holds = [self._dibs.reserve(**self._reservations[0], token=self._token)]
        else:
            self.holds = self._dibs.reserve_all(self._reservations, token=self._token)
        self._note(self.holds)
        for hold, reservation in zip(self.holds, self._reservations):
            self._left[hold.reservation_id] = asked + (hold.remaining_ms or 0) / 1000
            keeper = threading.Thread(target=self._keep, args=(hold, reservation.get("ttl_ms")), daemon=True)
            keeper.start()
            self._keepers.append(keeper)
        return self

    def _enter(self) -> None:
        """Enters the block, for a caller that may be gone by then."""
        self.__enter__()
        with self._lock:
            self._entered = True
            if not self._left_early:
                return
        self._abandon()

    def _leave(self) -> None:
        """Says that the caller is gone: the block never begins."""
        with self._lock:
            self._left_early = True
            if not self._entered:
                return  # _enter finds out
        threading.Thread(target=self._abandon, daemon=True).start()

    def _abandon(self) -> None:
        self._done.set()
        with contextlib.suppress(DibsError):  # otherwise the names are free when their time is over
            self._dibs.release_all(self.holds)

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        self._done.set()
        for keeper in self._keepers:
            keeper.join()
        if isinstance(error, Unsure):
            raise HoldError(self.holds, None, error, self.lost_because) from error
        if self._unwanted or isinstance(error, Exception):
            with contextlib.suppress(DibsError):  # otherwise the names are free when their time is over
                self._note(self._dibs.release_all(self.holds))
        elif error is None and self._entity is None:
            why = "the block called neither confirm_for nor release"
            raise HoldError(self.holds, None, why, self.lost_because) from self.lost_because
        elif error is None and self._entity is not None:
            self.names = self._confirm(self._entity)
            self._note(self.names)

    def _note(self, names: Sequence[Name]) -> None:
        self._latest.update((name.reservation_id, name) for name in names)

    def _keep(self, hold: Hold, ttl_ms: Optional[int]) -> None:
        """Extends a hold after a third of its time, again and again, and says so if it is lost."""
        why: Exception = TimeoutError("the hold is over: it could not be extended in time")
        while True:
            left = self._left[hold.reservation_id] - time.monotonic()
            if left <= 0:
                return self._lose(why)
            if self._done.wait(max(left / 3, 0.02)):
                return
            asked = time.monotonic()
            try:
                body = _body(token=hold.token, ttl_ms=ttl_ms)
                left = self._left[hold.reservation_id] - asked
                name = self._dibs._on_reservation(hold.reservation_id, "extend", body, timeout=max(left, 0.001))
                self._left[hold.reservation_id] = asked + (name.remaining_ms or 0) / 1000
                self._note([name])
            except DibsError as error:
                why = error
                if error.code == "TTL_TOO_LONG":  # it has the policy's longest time
                    self._done.wait(max(0.0, self._left[hold.reservation_id] - time.monotonic()))
                elif error.code not in _TRY_AGAIN:
                    return self._lose(error)
            except Exception as error:  # of the function that returns the key: the thread would end silently
                return self._lose(error)

    def _lose(self, why: Exception) -> None:
        self.lost_because = self.lost_because or why
        self.lost.set()
        if isinstance(why, DibsError) and why.status in (401, 403):
            # The block cannot be interrupted, and may still end in time: the next one may not.
            warnings.warn(f"a hold could not be extended: {why}", RuntimeWarning, stacklevel=2)

    def _confirm(self, entity: Entity) -> List[Name]:
        """Confirms all names in one step, and tries again until the first hold is over: the entity exists and needs its names."""
        over, pause = min(self._left.values()), _FIRST_PAUSE
        while True:
            try:
                return self._dibs.confirm_all(self.holds, entity)
            except DibsError as error:
                if error.code not in _TRY_AGAIN or time.monotonic() + pause > over:
                    raise HoldError(self.holds, entity, error, self.lost_because) from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


class AsyncDibs:
    """The verbs of :class:`Dibs` for asyncio: each returns a coroutine with the same result.

    Requests run in threads of the event loop's executor, so nothing but the standard library is
    needed. ``async with dibs.hold(…) as hold`` and ``async for event in dibs.watch(…)`` work as in
    :class:`Dibs`.
    """

    def __init__(
        self,
        url: str,
        key: Union[str, Callable[[], str], None] = None,
        *,
        timeout: float = 15.0,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._dibs = Dibs(url, key, timeout=timeout, ssl_context=ssl_context)

    async def reserve(
        self,
        namespace: str,
        value: str,
        *,
        ttl_ms: Optional[int] = None,
        entity: Optional[Entity] = None,
        token: Optional[str] = None,
        correlation_id: Optional[str] = None,
        meta: Optional[Dict[str, str]] = None,
        field: Optional[str] = None,
        override_reserved: Optional[bool] = None,
    ) -> Hold:
        """See :meth:`Dibs.reserve`."""
        return await asyncio.to_thread(
            self._dibs.reserve,
            namespace,
            value,
            ttl_ms=ttl_ms,
            entity=entity,
            token=token,
            correlation_id=correlation_id,
            meta=meta,
            field=field,
            override_reserved=override_reserved,
        )

    async def reserve_all(self, reservations: Sequence[Dict[str, Any]], *, token: Optional[str] = None) -> List[Hold]:
        """See :meth:`Dibs.reserve_all`."""
        return await asyncio.to_thread(self._dibs.reserve_all, reservations, token=token)

    async def reserve_first(
        self,
        namespace: str,
        values: Sequence[str],
        *,
        ttl_ms: Optional[int] = None,
        entity: Optional[Entity] = None,
        token: Optional[str] = None,
    ) -> Hold:
        """See :meth:`Dibs.reserve_first`."""
        return await asyncio.to_thread(self._dibs.reserve_first, namespace, values, ttl_ms=ttl_ms, entity=entity, token=token)

    async def extend(self, reservation_id: str, token: str, *, ttl_ms: Optional[int] = None) -> Name:
        """See :meth:`Dibs.extend`."""
        return await asyncio.to_thread(self._dibs.extend, reservation_id, token, ttl_ms=ttl_ms)

    async def confirm(
        self, reservation_id: str, token: str, entity: Entity, *, replace: Optional[bool] = None, replaces: Optional[str] = None
    ) -> Name:
        """See :meth:`Dibs.confirm`."""
        return await asyncio.to_thread(self._dibs.confirm, reservation_id, token, entity, replace=replace, replaces=replaces)

    async def release(self, reservation_id: str, token: str) -> Name:
        """See :meth:`Dibs.release`."""
        return await asyncio.to_thread(self._dibs.release, reservation_id, token)

    async def confirm_all(self, holds: Sequence[Hold], entity: Entity) -> List[Name]:
        """See :meth:`Dibs.confirm_all`."""
        return await asyncio.to_thread(self._dibs.confirm_all, holds, entity)

    async def release_all(self, holds: Sequence[Hold]) -> List[Name]:
        """See :meth:`Dibs.release_all`."""
        return await asyncio.to_thread(self._dibs.release_all, holds)

    async def settle(self, reservation_id: str, outcome: str, entity: Optional[Entity] = None) -> Name:
        """See :meth:`Dibs.settle`."""
        return await asyncio.to_thread(self._dibs.settle, reservation_id, outcome, entity)

    async def claim(self, namespace: str, value: str, entity: Entity, *, override_reserved: Optional[bool] = None) -> Name:
        """See :meth:`Dibs.claim`."""
        return await asyncio.to_thread(self._dibs.claim, namespace, value, entity, override_reserved=override_reserved)

    async def rename(
        self,
        namespace: str,
        value: str,
        entity: Entity,
        *,
        token: Optional[str] = None,
        from_: Optional[str] = None,
        scope: Optional[str] = None,
        if_version: Optional[int] = None,
    ) -> Name:
        """See :meth:`Dibs.rename`."""
        return await asyncio.to_thread(
            self._dibs.rename, namespace, value, entity, token=token, from_=from_, scope=scope, if_version=if_version
        )

    async def transfer(self, namespace: str, value: str, from_: Entity, to: Entity) -> Name:
        """See :meth:`Dibs.transfer`."""
        return await asyncio.to_thread(self._dibs.transfer, namespace, value, from_, to)

    async def swap(self, namespace: str, a: "tuple[str, Entity]", b: "tuple[str, Entity]") -> Result:
        """See :meth:`Dibs.swap`."""
        return await asyncio.to_thread(self._dibs.swap, namespace, a, b)

    async def decommission(self, namespace: str, value: str, entity: Entity) -> Name:
        """See :meth:`Dibs.decommission`."""
        return await asyncio.to_thread(self._dibs.decommission, namespace, value, entity)

    async def archive(self, entity: Entity, *, scope: Optional[str] = None) -> EntityState:
        """See :meth:`Dibs.archive`."""
        return await asyncio.to_thread(self._dibs.archive, entity, scope=scope)

    async def restore(self, entity: Entity, *, scope: Optional[str] = None) -> EntityState:
        """See :meth:`Dibs.restore`."""
        return await asyncio.to_thread(self._dibs.restore, entity, scope=scope)

    async def delete(self, entity: Entity, *, scope: Optional[str] = None) -> Deleted:
        """See :meth:`Dibs.delete`."""
        return await asyncio.to_thread(self._dibs.delete, entity, scope=scope)

    async def apply(self, commands: Sequence[Dict[str, Any]], *, dry_run: bool = False) -> List[Result]:
        """See :meth:`Dibs.apply`."""
        return await asyncio.to_thread(self._dibs.apply, commands, dry_run=dry_run)

    async def import_names(self, names: Sequence[Dict[str, Any]], *, dry_run: bool = False) -> List[Imported]:
        """See :meth:`Dibs.import_names`."""
        return await asyncio.to_thread(self._dibs.import_names, names, dry_run=dry_run)

    async def check(self, namespace: str, value: str, *, suggest: Optional[int] = None) -> Availability:
        """See :meth:`Dibs.check`."""
        return await asyncio.to_thread(self._dibs.check, namespace, value, suggest=suggest)

    async def check_all(
        self,
        namespace: str,
        values: Sequence[str],
        *,
        suggest: Optional[int] = None,
        parts: Optional[Sequence[str]] = None,
        entity: Optional[Entity] = None,
    ) -> List[Availability]:
        """See :meth:`Dibs.check_all`."""
        return await asyncio.to_thread(self._dibs.check_all, namespace, values, suggest=suggest, parts=parts, entity=entity)

    async def resolve(self, namespace: str, value: str) -> Resolution:
        """See :meth:`Dibs.resolve`."""
        return await asyncio.to_thread(self._dibs.resolve, namespace, value)

    async def name(self, namespace: str, value: str) -> Optional[Name]:
        """See :meth:`Dibs.name`."""
        return await asyncio.to_thread(self._dibs.name, namespace, value)

    async def reservation(self, reservation_id: str) -> Optional[Name]:
        """See :meth:`Dibs.reservation`."""
        return await asyncio.to_thread(self._dibs.reservation, reservation_id)

    async def entity(self, entity: Entity, *, scope: Optional[str] = None) -> Optional[EntityInfo]:
        """See :meth:`Dibs.entity`."""
        return await asyncio.to_thread(self._dibs.entity, entity, scope=scope)

    async def list(
        self,
        namespace: Optional[str] = None,
        *,
        state: Optional[str] = None,
        prefix: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> NamesPage:
        """See :meth:`Dibs.list`."""
        return await asyncio.to_thread(self._dibs.list, namespace, state=state, prefix=prefix, limit=limit, cursor=cursor)

    async def history(self, namespace: str, value: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> EventsPage:
        """See :meth:`Dibs.history`."""
        return await asyncio.to_thread(self._dibs.history, namespace, value, limit=limit, cursor=cursor)

    async def who_held(self, namespace: str, value: str, at: datetime.datetime) -> Holder:
        """See :meth:`Dibs.who_held`."""
        return await asyncio.to_thread(self._dibs.who_held, namespace, value, at)

    async def events(self, *, after: Optional[str] = None, limit: Optional[int] = None, namespace: Optional[str] = None) -> EventsPage:
        """See :meth:`Dibs.events`."""
        return await asyncio.to_thread(self._dibs.events, after=after, limit=limit, namespace=namespace)

    async def stats(self) -> Stats:
        """See :meth:`Dibs.stats`."""
        return await asyncio.to_thread(self._dibs.stats)

    async def conflicts(
        self, namespace: Optional[str] = None, *, from_: Optional[datetime.datetime] = None, to: Optional[datetime.datetime] = None
    ) -> List[Conflict]:
        """See :meth:`Dibs.conflicts`."""
        return await asyncio.to_thread(self._dibs.conflicts, namespace, from_=from_, to=to)

    async def create_key(self, name: str, grants: Sequence[Grant], *, expires_at: Optional[datetime.datetime] = None) -> Key:
        """See :meth:`Dibs.create_key`."""
        return await asyncio.to_thread(self._dibs.create_key, name, grants, expires_at=expires_at)

    async def keys(self) -> List[Key]:
        """See :meth:`Dibs.keys`."""
        return await asyncio.to_thread(self._dibs.keys)

    async def revoke_key(self, name: str, *, open: bool = False) -> None:
        """See :meth:`Dibs.revoke_key`."""
        await asyncio.to_thread(self._dibs.revoke_key, name, open=open)

    async def activity(
        self,
        namespace: Optional[str] = None,
        *,
        bucket: str = "minute",
        from_: Optional[datetime.datetime] = None,
        to: Optional[datetime.datetime] = None,
    ) -> Activity:
        """See :meth:`Dibs.activity`."""
        return await asyncio.to_thread(self._dibs.activity, namespace, bucket=bucket, from_=from_, to=to)

    @contextlib.asynccontextmanager
    async def hold(self, namespace: str, value: str, **options: Any) -> AsyncIterator[Holding]:
        """See :meth:`Dibs.hold`."""
        async with self._holding(self._dibs.hold(namespace, value, **options)) as holding:
            yield holding

    @contextlib.asynccontextmanager
    async def hold_all(self, reservations: Sequence[Dict[str, Any]], *, token: Optional[str] = None) -> AsyncIterator[Holding]:
        """See :meth:`Dibs.hold_all`."""
        async with self._holding(self._dibs.hold_all(reservations, token=token)) as holding:
            yield holding

    @contextlib.asynccontextmanager
    async def _holding(self, holding: Holding) -> AsyncIterator[Holding]:
        try:
            await asyncio.to_thread(holding._enter)
        except asyncio.CancelledError:
            holding._leave()  # the thread goes on, and would hold the name
            raise
        try:
            yield holding
        except BaseException as error:
            await asyncio.shield(asyncio.to_thread(holding.__exit__, type(error), error, error.__traceback__))
            raise
        await asyncio.shield(asyncio.to_thread(holding.__exit__, None, None, None))

    async def watch(self, *, namespace: Optional[str] = None, after: Optional[str] = None) -> AsyncIterator[Event]:
        """See :meth:`Dibs.watch`. It ends when the caller leaves the loop."""
        loop, stop = asyncio.get_running_loop(), threading.Event()
        events: "asyncio.Queue[Union[Event, BaseException]]" = asyncio.Queue()
        room = threading.Semaphore(1000)

        def follow() -> None:
            try:
                for event in self._dibs.watch(namespace=namespace, after=after, stop=stop):
                    while not room.acquire(timeout=1):
                        if stop.is_set():
                            return
                    loop.call_soon_threadsafe(events.put_nowait, event)
            except BaseException as error:  # for the caller
                if not stop.is_set():
                    loop.call_soon_threadsafe(events.put_nowait, error)

        threading.Thread(target=follow, daemon=True).start()
        try:
            while True:
                event = await events.get()
                if isinstance(event, BaseException):
                    raise event
                room.release()
                yield event
        finally:
            stop.set()
