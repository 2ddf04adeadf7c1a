import asyncio
import contextlib
import concurrent.futures
import datetime
import inspect
import itertools
import json
import os
import pathlib
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import calldibs
from calldibs import AsyncDibs, Dibs, DibsError, Entity, Grant, HoldError, Unsure
from harness import CuttingProxy, Server

_numbers = itertools.count(1)


def fresh(prefix="name"):
    return f"{prefix}-{os.getpid()}-{next(_numbers)}"


def at_once(do, items):
    """What do returns for each item: all of them wait at the same time."""
    with concurrent.futures.ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(do, items))


def setUpModule():
    global server, dibs
    server = Server()
    dibs = Dibs(server.url)


def tearDownModule():
    server.stop()


class Case(unittest.TestCase):
    def refused(self, code, call):
        with self.assertRaises(DibsError) as caught:
            call()
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def proxy(self):
        proxy = CuttingProxy(server)
        self.addCleanup(proxy.stop)
        return proxy


class Verbs(Case):
    def test_reserve_extend_confirm_resolve(self):
        value, owner = fresh(), Entity("user", fresh())
        hold = dibs.reserve("slug", value, ttl_ms=60_000, meta={"form": "signup"})
        self.assertEqual((hold.status, hold.state, hold.meta), ("reserved", "held", {"form": "signup"}))
        self.assertNotIn(hold.token, repr(hold))
        self.assertGreater(dibs.extend(hold.reservation_id, hold.token, ttl_ms=120_000).remaining_ms, 60_000)
        name = dibs.confirm(hold.reservation_id, hold.token, owner)
        self.assertEqual((name.status, name.state, name.entity, name.version), ("confirmed", "active", owner, 1))
        self.assertIsInstance(name.confirmed_at, datetime.datetime)
        found = dibs.resolve("slug", value)
        self.assertEqual((found.outcome, found.entity), ("active", owner))

    def test_same_token_same_hold(self):
        value = fresh()
        first = dibs.reserve("slug", value, token="a-secret-of-0123456789")
        second = dibs.reserve("slug", value, token="a-secret-of-0123456789")
        self.assertEqual((first.reservation_id, first.replayed, second.replayed), (second.reservation_id, False, True))

    def test_refusals(self):
        value, owner = fresh(), Entity("user", fresh())
        hold = dibs.reserve("slug", value)
        taken = self.refused("NAME_TAKEN", lambda: dibs.reserve("slug", value))
        self.assertEqual((taken.reason, taken.status, taken.key), ("held", 409, f"slug:{value}"))
        self.assertTrue(taken.suggestions and taken.until)
        invalid = self.refused("INVALID_VALUE", lambda: dibs.reserve("email", "not an email"))
        self.assertTrue(invalid.refusal.problem)
        self.refused("INVALID_NAMESPACE", lambda: dibs.reserve("no namespace", "a"))
        self.refused("INVALID_TTL", lambda: dibs.reserve("slug", fresh(), ttl_ms=0))
        self.refused("INVALID_TOKEN", lambda: dibs.reserve("slug", fresh(), token="short"))
        self.refused("RESERVATION_LOST", lambda: dibs.confirm(hold.reservation_id, "another-0123456789", owner))
        self.refused("RESERVATION_NOT_FOUND", lambda: dibs.release("res_" + "a" * 26, hold.token))
        name = dibs.claim("slug", fresh(), owner)
        self.refused("NOT_OWNER", lambda: dibs.decommission("slug", name.canonical, Entity("user", fresh())))
        self.refused("ENTITY_HAS_NAME", lambda: dibs.claim("slug", fresh(), owner))
        self.refused("VERSION_MISMATCH", lambda: dibs.rename("slug", fresh(), owner, if_version=7))
        self.refused("INVALID_CURSOR", lambda: dibs.events(after="nowhere"))

    def test_several_names(self):
        value = fresh("team")
        holds = dibs.reserve_all([{"namespace": "slug", "value": value}, {"namespace": "tenant", "value": value}])
        self.assertEqual([h.namespace for h in holds], ["slug", "tenant"])
        self.assertEqual(holds[0].token, holds[1].token)
        error = self.refused("NAME_TAKEN", lambda: dibs.reserve_all([{"namespace": "slug", "value": fresh()}, {"namespace": "slug", "value": value}]))
        self.assertEqual([(f.index, f.code) for f in error.errors], [(1, "NAME_TAKEN")])
        self.assertEqual(dibs.reserve_first("slug", [value, value + "-2"]).canonical, value + "-2")

    def test_confirm_and_release_all(self):
        def reserve(value):
            return dibs.reserve_all([{"namespace": n, "value": value} for n in ("slug", "tenant")], token=f"token-of-{value}")

        kept, given, owner = fresh("kept"), fresh("given"), Entity("user", fresh())
        holds = reserve(kept)
        for _ in range(2):
            names = dibs.confirm_all(holds, owner)
            self.assertEqual([(n.namespace, n.state, n.entity) for n in names], [("slug", "active", owner), ("tenant", "active", owner)])
        self.refused("RESERVATION_ALREADY_CONFIRMED", lambda: reserve(kept))
        self.refused("RESERVATION_ALREADY_CONFIRMED", lambda: dibs.release_all(holds))
        others = reserve(given)
        for _ in range(2):
            self.assertEqual([n.state for n in dibs.release_all(others)], ["free", "free"])
        error = self.refused("RESERVATION_ALREADY_RELEASED", lambda: dibs.confirm_all(others, owner))
        self.assertEqual([f.index for f in error.errors], [0, 1])

    def test_a_problem_can_be_passed_on(self):
        value = fresh()
        dibs.reserve("slug", value)
        problem = self.refused("NAME_TAKEN", lambda: dibs.reserve("slug", value, field="url")).problem
        wanted = {"type": "urn:dibs:problem:name-taken", "status": 409, "code": "NAME_TAKEN", "field": "url", "error": "slug_taken"}
        self.assertEqual({k: problem[k] for k in wanted}, wanted)

    def test_rename_one_of_several(self):
        owner, old, present = Entity("user", fresh()), fresh(), fresh()
        dibs.claim("slug", old, owner)
        self.refused("NOT_OWNER", lambda: dibs.rename("slug", present, owner, from_=fresh()))
        self.assertEqual(dibs.rename("slug", present, owner, from_=old).canonical, present)

    def test_rename_and_redirect(self):
        owner, old, present = Entity("user", fresh()), fresh(), fresh()
        dibs.claim("slug", old, owner)
        self.assertEqual(dibs.rename("slug", present, owner, if_version=1).canonical, present)
        moved = dibs.resolve("slug", old)
        self.assertEqual((moved.outcome, moved.to), ("moved", present))
        self.assertEqual(dibs.resolve("slug", fresh()).outcome, "not_found")
        info = dibs.entity(owner)
        self.assertEqual((info.version, sorted(n.state for n in info.names)), (2, ["active", "alias"]))

    def test_ownership(self):
        a, b, c = (Entity("user", fresh()) for _ in range(3))
        va, vb = fresh(), fresh()
        dibs.claim("slug", va, a)
        dibs.claim("slug", vb, b)
        dibs.swap("slug", (va, a), (vb, b))
        self.assertEqual(dibs.name("slug", va).entity, b)
        self.assertEqual(dibs.transfer("slug", va, b, c).entity, c)
        dibs.archive(c)
        self.assertTrue(dibs.entity(c).archived)
        dibs.restore(c)
        self.assertEqual(dibs.decommission("slug", va, c).state, "free")
        deleted = dibs.delete(a)
        self.assertEqual(deleted.freed + deleted.quarantined, [f"slug:{vb}"])

    def test_apply_and_dry_run(self):
        value, owner = fresh(), Entity("user", fresh())
        claim = {"op": "claim", "namespace": "slug", "value": value, "entity": owner}
        self.assertEqual(dibs.apply([claim], dry_run=True)[0].names[0].state, "active")
        self.assertTrue(dibs.check("slug", value).available)
        dibs.apply([claim])
        taken = dibs.check("slug", value, suggest=2)
        self.assertEqual((taken.available, taken.reason, len(taken.suggestions)), (False, "in_use", 2))

    def test_import(self):
        a, b, owner = fresh(), fresh(), Entity("user", fresh())
        since = datetime.datetime(2020, 5, 1, tzinfo=datetime.timezone.utc)
        names = [
            {"namespace": "slug", "value": b, "entity": owner, "since": since},
            {"namespace": "slug", "value": a, "entity": owner, "alias_of": b},
            {"namespace": "slug", "value": b, "entity": Entity("user", fresh())},
        ]
        outcomes = [i.outcome for i in dibs.import_names(names[:1], dry_run=True)]
        self.assertEqual((outcomes, dibs.name("slug", b)), (["imported"], None))
        done = dibs.import_names(names)
        self.assertEqual([i.outcome for i in done], ["imported", "imported", "refused"])
        self.assertEqual((done[0].name.entity, done[0].name.confirmed_at), (owner, since))
        self.assertEqual((done[1].name.state, done[2].name, done[2].refused.code), ("alias", None, "NAME_TAKEN"))
        self.assertEqual([i.outcome for i in dibs.import_names(names)], ["unchanged", "unchanged", "refused"])
        self.assertEqual(dibs.resolve("slug", a).to, b)

    def test_keys(self):
        own = Server()
        self.addCleanup(own.stop)
        made = Dibs(own.url).create_key("admin", [Grant(["all"], ["*"])])
        self.assertTrue(made.secret.startswith("dibs_"))
        self.assertNotIn(made.secret, repr(made))
        with self.assertRaises(DibsError) as refused:
            Dibs(own.url).keys()
        self.assertEqual(refused.exception.code, "UNAUTHORIZED")
        admin = Dibs(own.url, key=made.secret)
        until = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(hours=1)
        admin.create_key("acme", [Grant(["read"], ["acme.*"])], expires_at=until)
        keys = admin.keys()
        self.assertEqual([(k.name, k.created_by, k.secret) for k in keys], [("acme", "admin", None), ("admin", None, None)])
        self.assertEqual((keys[0].grants, keys[0].expires_at), ([Grant(["read"], ["acme.*"])], until))
        admin.revoke_key("acme")
        with self.assertRaises(DibsError) as refused:
            admin.revoke_key("admin")
        self.assertEqual(refused.exception.code, "LAST_KEY")
        admin.revoke_key("admin", open=True)

    def test_reading(self):
        value, owner = fresh("story"), Entity("user", fresh())
        hold = dibs.reserve("slug", value, correlation_id="corr-1")
        dibs.confirm(hold.reservation_id, hold.token, owner)
        self.assertEqual([n.canonical for n in dibs.list("slug", prefix=value, state="active").names], [value])
        self.assertEqual([e.kind for e in dibs.history("slug", value).events], ["reserved", "confirmed"])
        holder = dibs.who_held("slug", value, datetime.datetime.now(datetime.timezone.utc))
        self.assertEqual((holder.state, holder.entity), ("active", owner))
        page = dibs.events(namespace="slug", limit=5)
        self.assertTrue(page.events and page.next_cursor)
        self.assertTrue(any(c.namespace == "slug" and c.count for c in dibs.stats().names))
        self.assertIsInstance(dibs.conflicts("slug"), list)
        self.assertTrue(sum(b.events.get("claimed", 0) for b in dibs.activity("slug", bucket="hour").buckets))
        self.assertIsNone(dibs.name("slug", fresh()))
        self.assertIsNone(dibs.reservation("res_" + "a" * 26))
        self.assertIsNone(dibs.entity(Entity("user", fresh())))
        for odd in ["a/b?c=d#e%20", "héllo wörld", "😀", "...", "a b+c&d"]:
            dibs.claim(fresh("raw").replace("-", ""), odd, Entity("odd", odd))
            self.assertEqual(dibs.entity(Entity("odd", odd)).entity.id, odd)


class Holds(Case):
    def test_confirmed_at_the_end(self):
        value = fresh()
        with dibs.hold("slug", value) as hold:
            self.assertEqual(dibs.name("slug", value).state, "held")
            hold.confirm_for("order", hold.canonical)
        self.assertEqual((hold.names[0].state, hold.names[0].entity), ("active", Entity("order", value)))

    def test_a_failure_frees_the_name(self):
        value = fresh()
        with self.assertRaisesRegex(RuntimeError, "declined"), dibs.hold("slug", value):
            raise RuntimeError("declined")
        self.assertTrue(dibs.check("slug", value).available)
        with dibs.hold("slug", value) as hold:
            hold.release()  # nothing was saved
        self.assertTrue(dibs.check("slug", value).available)

    def test_a_block_that_says_nothing_loses_no_name(self):
        def without_an_end(paid):
            with dibs.hold("slug", value) as hold:
                if not paid:
                    return
                hold.confirm_for("user", value)

        value = fresh()
        with self.assertRaisesRegex(HoldError, "neither confirm_for nor release") as caught:
            without_an_end(paid=False)
        self.assertIsNone(caught.exception.entity)
        (hold,) = caught.exception.holds
        self.assertEqual(dibs.name("slug", value).state, "held")
        self.assertEqual(dibs.confirm(hold.reservation_id, hold.token, Entity("user", value)).state, "active")

    def test_the_last_word_counts(self):
        kept, given = fresh(), fresh()
        with dibs.hold("slug", kept) as hold:
            hold.release()
            hold.confirm_for("user", kept)
        with dibs.hold("slug", given) as hold:
            hold.confirm_for("user", given)
            hold.release()
        self.assertEqual([dibs.check("slug", v).available for v in (kept, given)], [False, True])

    def test_a_refused_extend_is_told(self):
        def refused(status, code):
            client = Dibs(server.url)
            attempt = client._http._attempt

            def attempts(connection, method, target, body, headers):
                if target.endswith("/extend"):
                    return status, {}, json.dumps({"code": code, "detail": "no right to extend", "status": status}).encode()
                return attempt(connection, method, target, body, headers)

            client._http._attempt = attempts
            return client

        for status, code in ((403, "FORBIDDEN"), (401, "UNAUTHORIZED"), (404, "RESERVATION_NOT_FOUND")):
            with self.subTest(code), warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                value = fresh()
                with self.assertRaisesRegex(HoldError, f"{code}: no right to extend") as caught:
                    with refused(status, code).hold("slug", value, ttl_ms=3000) as hold:
                        self.assertTrue(hold.lost.wait(60))
                        dibs.release(hold.holds[0].reservation_id, hold.holds[0].token)  # as if its time were over
                        hold.confirm_for("user", value)
                self.assertEqual((caught.exception.lost.code, hold.lost_because.code), (code, code))
                told = [str(w.message) for w in warned if w.category is RuntimeWarning]
                self.assertEqual(told, [f"a hold could not be extended: {code}: no right to extend"] * (status != 404))

    def test_a_key_that_fails_does_not_end_the_keeper_silently(self):
        keys = iter([""])  # without keys the server accepts none
        with self.assertRaises(HoldError) as caught, Dibs(server.url, key=lambda: next(keys)).hold("slug", fresh(), ttl_ms=3000) as hold:
            self.assertTrue(hold.lost.wait(60))
            raise Unsure("no key")
        self.assertIsInstance(caught.exception.lost, StopIteration)

    def test_repr(self):
        value = fresh()
        holding = dibs.hold("slug", value)
        self.assertEqual(repr(holding), "Holding(nothing yet)")
        with holding:
            self.assertRegex(repr(holding), rf"^Holding\(slug:{value} held until 20\d\d-.*\)$")
            self.assertNotIn(holding.holds[0].token, repr(holding))
            holding.confirm_for("user", value)
        self.assertEqual(repr(holding), f"Holding(slug:{value} active)")

    def test_one_refusal_is_not_counted(self):
        value = fresh()
        dibs.claim("slug", value, Entity("user", value))
        for holding in (dibs.hold("slug", value), dibs.hold_all([{"namespace": "slug", "value": value}]), dibs.hold("email", "no mail")):
            with self.assertRaises(DibsError) as caught:
                with holding:
                    pass
            self.assertNotRegex(str(caught.exception) + caught.exception.problem["detail"], "1 of 1|number 1")

    def test_unsure_leaves_the_hold(self):
        value = fresh()
        with self.assertRaises(HoldError) as caught, dibs.hold("slug", value):
            raise Unsure("no answer from the bank")
        self.assertEqual((caught.exception.entity, caught.exception.holds[0].canonical), (None, value))
        self.assertEqual(dibs.name("slug", value).state, "held")

    def test_taken_has_suggestions(self):
        value = fresh()
        dibs.reserve("slug", value)
        with self.assertRaises(DibsError) as caught, dibs.hold("slug", value):
            self.fail("the block runs")
        self.assertEqual((caught.exception.code, bool(caught.exception.suggestions)), ("NAME_TAKEN", True))

    def test_a_taken_name_is_asked_for_once(self):
        value, client, asked = fresh(), Dibs(server.url), []
        dibs.reserve("slug", value)
        attempt = client._http._attempt

        def attempts(*arguments):
            asked.append(arguments[2])
            return attempt(*arguments)

        client._http._attempt = attempts
        with self.assertRaises(DibsError), client.hold("slug", value):
            self.fail("the block runs")
        self.assertEqual(len(asked), 1)

    def test_a_server_that_hangs_loses_the_hold_in_time(self):
        client, hang = Dibs(server.url, timeout=600), threading.Event()
        self.addCleanup(hang.set)
        attempt = client._http._attempt

        def attempts(connection, method, target, body, headers):
            if target.endswith("/extend"):
                hang.wait(connection.sock.gettimeout())
                raise TimeoutError("timed out")
            return attempt(connection, method, target, body, headers)

        client._http._attempt = attempts
        with self.assertRaises(HoldError), client.hold("slug", fresh(), ttl_ms=1000) as hold:
            self.assertTrue(hold.lost.wait(60))
            raise Unsure("the server hangs")

    def test_lasts_as_long_as_its_block(self):
        value = fresh()
        with dibs.hold("slug", value, ttl_ms=5000) as hold:
            ends = set()
            while len(ends) < 3:  # it is extended, and extended again
                ends.add(dibs.name("slug", value).expires_at)
                time.sleep(0.05)
            self.assertFalse(hold.lost.is_set())
            hold.confirm_for("user", value)
        self.assertEqual(hold.names[0].state, "active")

    def test_a_lost_hold_is_told(self):
        with self.assertRaises(HoldError), dibs.hold("slug", fresh(), ttl_ms=1000) as hold:
            dibs.release(hold.holds[0].reservation_id, hold.holds[0].token)
            self.assertTrue(hold.lost.wait(60))
            hold.confirm_for("user", "1")

    def test_lost_answers_to_a_confirmation(self):
        proxy = self.proxy()
        behind, value = Dibs(proxy.url, timeout=60), fresh("team")
        with behind.hold_all([{"namespace": n, "value": value, "ttl_ms": 30_000} for n in ("slug", "tenant")]) as hold:
            proxy.cut_some("answers", 1)
            hold.confirm_for("team", value)
        self.assertGreater(proxy.cuts, 0)
        self.assertEqual([n.state for n in hold.names], ["active", "active"])


class BadDays(Case):
    def test_lost_requests_and_answers(self):
        proxy = self.proxy()
        behind = Dibs(proxy.url, timeout=60)
        for cut in ("requests", "answers"):
            before = proxy.cuts
            proxy.cut_some(cut, 2)
            hold = behind.reserve("slug", fresh())
            self.assertEqual(proxy.cuts, before + 2)
            self.assertEqual(dibs.release(hold.reservation_id, hold.token).status, "released")

    def test_no_second_claim(self):
        proxy, value = self.proxy(), fresh()
        proxy.cut = "answers"
        self.refused("OUTCOME_UNKNOWN", lambda: Dibs(proxy.url, timeout=60).claim("slug", value, Entity("user", value)))
        self.assertEqual((proxy.cuts, dibs.name("slug", value).state), (1, "active"))

    def test_a_server_that_starts_again(self):
        own = Server()
        self.addCleanup(own.stop)
        client, value = Dibs(own.url, timeout=60), fresh()
        client.claim("slug", value, Entity("user", "1"))
        own.kill()
        starting = threading.Thread(target=own.start)
        connected = client._http._connected

        def refused_once(deadline):
            try:
                return connected(deadline)
            finally:
                if not starting.ident:
                    starting.start()

        client._http._connected = refused_once
        self.assertEqual(client.resolve("slug", value).outcome, "active")
        starting.join()
        client.claim("slug", fresh(), Entity("user", "2"))  # on a connection that the old server had

    def test_nothing_listens(self):
        gone = Server()
        url = gone.url
        gone.stop()
        gone = Dibs(url, timeout=2)
        calls = (
            lambda: gone.stats(),
            lambda: gone.resolve("slug", "a"),
            lambda: gone.reserve("slug", "a"),
            lambda: gone.claim("slug", "a", Entity("user", "1")),
        )
        for error in at_once(lambda call: self.refused("UNAVAILABLE", call), calls):
            self.assertRegex(error.detail, "^nothing happened: the server cannot be reached: ConnectionRefusedError")

    def test_a_read_changes_nothing(self):
        proxy = self.proxy()
        proxy.cut = "answers"
        behind = Dibs(proxy.url, timeout=2)
        command = {"op": "claim", "namespace": "slug", "value": "a", "entity": Entity("user", "1")}
        reads = (
            lambda: behind.resolve("slug", "a"),
            lambda: behind.check("slug", "a"),
            lambda: behind.name("slug", "a"),
            lambda: behind.history("slug", "a"),
            lambda: behind.apply([command], dry_run=True),
        )
        for error in at_once(lambda read: self.refused("UNAVAILABLE", read), reads):
            self.assertRegex(error.detail, "^nothing happened: ")
        self.refused("OUTCOME_UNKNOWN", lambda: behind.reserve("slug", fresh()))

    def test_sent_once_and_then_refused(self):
        proxy = self.proxy()
        proxy.cut = "answers"
        behind = Dibs(proxy.url, timeout=2)
        attempt = behind._http._attempt

        def last(*arguments):
            proxy.listener.close()  # the later attempts are refused
            return attempt(*arguments)

        behind._http._attempt = last
        self.assertIn("cannot be reached", self.refused("OUTCOME_UNKNOWN", lambda: behind.reserve("slug", fresh())).detail)

    def test_a_busy_server_is_asked_again_when_it_says(self):
        client, asked = Dibs(server.url), []
        attempt = client._http._attempt

        def busy_once(*arguments):
            asked.append(time.monotonic())
            if len(asked) > 1:
                return attempt(*arguments)
            return 503, {"Retry-After": "1"}, b'{"code": "UNAVAILABLE", "detail": "the server is overloaded: nothing happened", "status": 503}'

        client._http._attempt = busy_once
        client.stats()
        self.assertEqual(len(asked), 2)
        self.assertGreaterEqual(asked[1] - asked[0], 1)

    def test_an_internal_error_leaves_a_change_unknown(self):
        client, asked = Dibs(server.url, timeout=2), []

        def broken(*arguments):
            asked.append(arguments)
            return 500, {}, b'{"code": "INTERNAL", "detail": "see the log of the server", "status": 500}'

        client._http._attempt = broken
        self.refused("OUTCOME_UNKNOWN", lambda: client.claim("slug", fresh(), Entity("user", "1")))
        self.assertEqual(len(asked), 1)
        self.refused("OUTCOME_UNKNOWN", lambda: client.reserve("slug", fresh()))
        self.assertGreater(len(asked), 2)
        self.refused("INTERNAL", client.stats)

    def test_sent_once_and_then_not_let_in(self):
        client, asked = Dibs(server.url, timeout=2), []

        def lost_and_then_refused(*_):
            asked.append(1)
            if len(asked) == 1:
                raise ConnectionResetError("lost")
            return 401, {}, b'{"code": "UNAUTHORIZED", "detail": "the key was revoked", "status": 401}'

        client._http._attempt = lost_and_then_refused
        self.refused("OUTCOME_UNKNOWN", lambda: client.reserve("slug", fresh()))
        self.refused("UNAUTHORIZED", lambda: client.reserve("slug", fresh()))

    def test_a_problem_of_another_server(self):
        client = Dibs(server.url)
        client._http._attempt = lambda *_: (400, {}, b'{"code": 7, "detail": {"message": "no"}}')
        self.assertIn("not one of a registry", self.refused("INTERNAL", client.stats).detail)

    def test_an_answer_that_is_no_result_leaves_a_change_unknown(self):
        problem = b'{"code": "NAME_TAKEN", "detail": "slug:ann is taken", "status": 409, "outcome": "taken"}'
        proxies = ((200, "application/problem+json; charset=utf-8", problem), (200, "text/html", b"hello"), (500, "text/html", b"sorry"))
        for status, media, text in proxies:
            with self.subTest(status=status, media=media):
                client = Dibs(server.url, timeout=0.3)
                client._http._attempt = lambda *_: (status, {"Content-Type": media}, text)
                self.refused("OUTCOME_UNKNOWN", lambda: client.claim("slug", fresh(), Entity("user", "1")))
                self.refused("INTERNAL", lambda: client.resolve("slug", fresh()))
                self.refused("INTERNAL", client.stats)

    def test_a_token_of_none_is_none(self):
        client, sent = Dibs(server.url), []
        attempt = client._http._attempt

        def attempts(connection, method, target, body, headers):
            sent.append(body)
            return attempt(connection, method, target, body, headers)

        client._http._attempt = attempts
        client.apply([{"op": "reserve", "namespace": "slug", "value": fresh(), "token": None}])
        self.assertEqual(len(sent[0]["commands"][0]["token"]), 40)

    @unittest.skipUnless(hasattr(select, "poll"), "needs more files than this system allows")
    def test_many_open_files(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < 2000:
            self.skipTest("this user may not open as many files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        client = Dibs(server.url)
        with contextlib.ExitStack() as files:
            for _ in range(1100):
                files.enter_context(open(os.devnull))
            for _ in range(3):
                client.stats()

    def test_not_a_server(self):
        for url in ("localhost:8080", "ftp://host", ""):
            with self.assertRaisesRegex(ValueError, "not the URL"):
                Dibs(url)
        self.refused("NOT_FOUND", lambda: Dibs(server.url + "/elsewhere").stats())


class Watching(Case):
    def test_misses_nothing(self):
        own = Server()
        self.addCleanup(own.stop)
        proxy = CuttingProxy(own)
        self.addCleanup(proxy.stop)
        client, seen = Dibs(own.url), []

        def watch():
            for event in Dibs(proxy.url).watch(namespace="slug"):
                seen.append(event.canonical)
                if len(seen) == 30:
                    return

        thread = threading.Thread(target=watch)
        thread.start()
        for i in range(30):
            client.reserve("slug", f"v{i}")
            if i % 7 == 3:
                proxy.sever()
            if i == 15:
                own.kill()
                own.start()
        thread.join(120)
        self.assertEqual(seen, [f"v{i}" for i in range(30)])

    def test_wrong_cursor(self):
        self.refused("INVALID_CURSOR", lambda: next(dibs.watch(after="nowhere")))

    def test_what_is_no_stream(self):
        answers = (("text/html", b"id: 7\n\nplease sign in"), ("application/problem+json", b'{"code": "FORBIDDEN", "detail": "no", "status": 403}'), ("application/json", b"{}"))
        for media, text in answers:
            with self.subTest(media=media):
                lines = [b"HTTP/1.1 200 OK", b"Connection: close", b"Content-Type: " + media.encode(), b"Content-Length: %d" % len(text), b"", text]
                url = self.answering(b"\r\n".join(lines))
                stop = threading.Event()
                threading.Timer(20, stop.set).start()
                self.refused("INTERNAL", lambda: next(Dibs(url).watch(stop=stop), None))
                stop.set()

    def answering(self, answer):
        """The URL of a server that answers once."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)
            listener.close()

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def test_latest(self):
        namespace = fresh("later").replace("-", "")
        dibs.reserve(namespace, "before")
        client, taken, stop, seen = Dibs(server.url), threading.Event(), threading.Event(), []
        events = client.events

        def first_page(**query):
            page = events(**query)
            taken.set()  # the watch has its cursor
            return page

        client.events = first_page
        watching = threading.Thread(target=lambda: seen.extend(itertools.islice(client.watch(namespace=namespace, after="latest", stop=stop), 1)))
        watching.start()
        self.assertTrue(taken.wait(60))
        dibs.reserve(namespace, "after")
        watching.join(60)
        self.assertEqual([e.canonical for e in seen], ["after"])


class Async(unittest.IsolatedAsyncioTestCase):
    def test_same_verbs(self):
        for name, method in inspect.getmembers(Dibs, inspect.isfunction):
            if name.startswith("_") or name in ("hold", "hold_all", "watch"):
                continue
            self.assertEqual(inspect.signature(method), inspect.signature(getattr(AsyncDibs, name)), name)
            self.assertTrue(inspect.iscoroutinefunction(getattr(AsyncDibs, name)), name)

    async def test_life(self):
        client, value = AsyncDibs(server.url), fresh()
        async with client.hold("slug", value) as hold:
            hold.confirm_for("user", value)
        self.assertEqual((await client.resolve("slug", value)).outcome, "active")
        with self.assertRaisesRegex(RuntimeError, "declined"):
            async with client.hold_all([{"namespace": "slug", "value": value + "-2"}]):
                raise RuntimeError("declined")
        self.assertTrue((await client.check("slug", value + "-2")).available)
        with self.assertRaisesRegex(HoldError, "neither confirm_for nor release"):
            async with client.hold("slug", value + "-3"):
                pass
        async with client.hold("slug", value + "-4") as hold:
            hold.release()
        self.assertEqual([(await client.check("slug", value + end)).available for end in ("-3", "-4")], [False, True])
        with self.assertRaises(DibsError):
            await client.reserve("slug", value)
        holds = await asyncio.gather(*(client.reserve("slug", fresh()) for _ in range(20)))
        self.assertEqual(len({h.reservation_id for h in holds}), 20)

    async def test_a_cancelled_hold_is_given_up(self):
        client, value = AsyncDibs(server.url), fresh()
        reserving, go_on = threading.Event(), threading.Event()
        reserve = client._dibs.reserve

        def slowly(*arguments, **options):
            reserving.set()
            go_on.wait(60)
            return reserve(*arguments, **options)

        client._dibs.reserve = slowly

        async def sign_up():
            async with client.hold("slug", value):
                self.fail("the block runs")

        task = asyncio.ensure_future(sign_up())
        await asyncio.to_thread(reserving.wait, 60)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        go_on.set()
        for _ in range(6000):
            name = await client.name("slug", value)
            if name is not None and name.status == "released":
                break
            await asyncio.sleep(0.01)
        self.assertEqual(name.status, "released")

    async def test_watch(self):
        client, namespace = AsyncDibs(server.url), fresh("async").replace("-", "")
        for i in range(3):
            await client.reserve(namespace, f"v{i}")
        seen = []
        async for event in client.watch(namespace=namespace):
            seen.append(event.canonical)
            if len(seen) == 3:
                break
        self.assertEqual(seen, ["v0", "v1", "v2"])
        with self.assertRaises(DibsError):
            async for event in client.watch(after="nowhere"):
                self.fail("an event")


class Package(unittest.TestCase):
    def test_a_wheel_builds(self):
        home = pathlib.Path(calldibs.__file__).parent
        with tempfile.TemporaryDirectory() as folder:
            build = "import sys, setuptools.build_meta as b; print(b.build_wheel(sys.argv[1]))"
            subprocess.run([sys.executable, "-c", build, folder], cwd=home, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            (wheel,) = pathlib.Path(folder).glob("*.whl")
            check = "import sys; sys.path.insert(0, sys.argv[1]); import calldibs; print(calldibs.__file__)"
            out = subprocess.run([sys.executable, "-c", check, str(wheel)], cwd=folder, check=True, capture_output=True, text=True).stdout
            self.assertIn(".whl", out)


if __name__ == "__main__":
    unittest.main()
