"""A web shop: an account has an email, a username and a tenant, which no other account has: docs/signup.md."""

import collections
import http.cookies
import http.server
import json
import os
import secrets
import sqlite3
import urllib.parse

from calldibs import Dibs, DibsError, Entity, new_token

NAMES = ("email", "username", "tenant")

dibs = Dibs(os.environ.get("SHOP_DIBS", "http://localhost:8080"))
db = sqlite3.connect(os.environ.get("SHOP_DATA", "shop.db"), isolation_level=None, check_same_thread=False)
db.row_factory = sqlite3.Row
# An attempt to sign up. With a payment it is an account.
db.execute("CREATE TABLE IF NOT EXISTS attempts (session TEXT PRIMARY KEY, email TEXT, username TEXT, tenant TEXT, id TEXT, token TEXT, payment TEXT)")


class Refused(Exception):
    def __init__(self, status, detail):
        self.status, self.problem = status, {"status": status, "detail": detail}


def sign_up(session, form):
    """Finds in each step what an earlier try has done: the same request again is always right."""
    attempt = find("session", session)
    if attempt and (attempt["payment"] == "declined" or any(attempt[n] != form[n] for n in NAMES)):
        give_up(attempt)
    # The attempt is saved before the first call: a person who comes back has the same token.
    db.execute("INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?, ?, ?, '')", (session, *(form[n] for n in NAMES), secrets.token_hex(16), new_token()))
    attempt = find("session", session)
    try:
        holds = reserve(attempt)
        if not pay(attempt):
            give_up(attempt)
            raise Refused(402, "the payment failed, and the names are free again")
        dibs.confirm_all(holds, entity(attempt))
    except DibsError as error:
        if error.code == "RESERVATION_ALREADY_CONFIRMED":
            return  # by an earlier try, whose answer was lost
        if error.code in ("RESERVATION_ALREADY_RELEASED", "RESERVATION_ALREADY_EXPIRED") and not settle(attempt["id"]):
            return sign_up(session, form)  # with a new token: this one is spent
        raise  # the same attempt may still succeed


def reserve(attempt):
    return dibs.reserve_all([{"namespace": n, "value": attempt[n], "entity": entity(attempt)} for n in NAMES], token=attempt["token"])


def pay(attempt):
    """Pays for an attempt, once. A bank would take the attempt's id as its idempotency key."""
    payment = "UPDATE attempts SET payment = iif(abs(random()) % 100 < ?, 'declined', 'paid') WHERE id = ? AND payment = ''"
    db.execute(payment, (int(os.environ.get("SHOP_DECLINES", "20")), attempt["id"]))
    found = find("id", attempt["id"])
    return found is not None and found["payment"] == "paid"


def give_up(attempt):
    """Frees the names of an attempt, which then can no longer be paid, and forgets it."""
    if db.execute("UPDATE attempts SET payment = 'declined' WHERE id = ? AND payment != 'paid'", (attempt["id"],)).rowcount == 0:
        return  # it is paid, or gone
    try:
        dibs.release_all(reserve(attempt))
    except DibsError as error:
        if error.status not in (409, 422):  # these mean that there is no such hold
            raise  # the next visit tries again: with another token the names would be taken
    settle(attempt["id"])


def settle(id):
    """Removes an attempt that is not paid, so that it never will be, and says whether there is an account."""
    db.execute("DELETE FROM attempts WHERE id = ? AND payment != 'paid'", (id,))
    return find("id", id) is not None


def find(column, value):
    return db.execute(f"SELECT * FROM attempts WHERE {column} = ?", (value,)).fetchone()


def entity(attempt):
    return Entity("account", attempt["id"])


def account(session):
    attempt = find("session", session)
    if not attempt or attempt["payment"] != "paid":
        raise Refused(401, "sign up first")
    return entity(attempt)


def show(username):
    """The page of an account. Old usernames lead to the present one."""
    found = dibs.resolve("username", username)
    if found.outcome == "moved":
        return 301, {}, {"Location": "/u/" + urllib.parse.quote(found.to)}
    return found.status, {"account": found.entity.id} if found.outcome == "active" else {}, {}


def public(error):
    """What the browser may know of an error: not that an email is taken. A real shop sends a mail to the person who has it."""
    entries = error.problem.get("errors", [error.problem])
    shown = [e for e in entries if (e.get("field"), e.get("code")) != ("email", "NAME_TAKEN")]
    if not shown:
        return 202, {"status": 202, "detail": "we have sent you a mail"}
    return error.status or 503, error.problem if shown == entries else {"status": error.status, "code": shown[0]["code"], "errors": shown}


def witness(hold):
    """The registry asks about a hold that is over and was not confirmed."""
    return {"outcome": "exists", "entity": hold["entity"]} if settle(hold["entity"]["id"]) else {"outcome": "absent"}


CHANGES = {
    "POST /signup": sign_up,
    "PUT /account": lambda session, form: dibs.rename("username", form["username"], account(session)),
    "DELETE /account": lambda session, form: dibs.archive(account(session)),
    "POST /account/restore": lambda session, form: dibs.restore(account(session)),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        path = urllib.parse.unquote(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        try:
            if path == "/witness":
                status, answer, headers = 200, witness(json.loads(body)), {}
            elif path.startswith("/u/"):
                status, answer, headers = show(path[3:])
            else:
                change = CHANGES.get(f"{self.command} {path}")
                if not change:
                    raise Refused(404, "no such page")
                cookie = http.cookies.SimpleCookie(self.headers.get("Cookie")).get("session")
                if not cookie or not (session := cookie.value):
                    raise Refused(400, "the cookie session is missing")
                change(session, collections.defaultdict(str, urllib.parse.parse_qsl(body)))  # a missing field is empty
                status, answer, headers = 200, {"account": account(session).id}, {}
        except (DibsError, Refused) as error:
            (status, answer), headers = public(error), {}
        except (KeyError, ValueError) as error:
            status, answer, headers = 400, {"status": 400, "detail": f"the request is malformed: {error}"}, {}
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    do_GET = do_POST = do_PUT = do_DELETE = answer


if __name__ == "__main__":
    host, port = os.environ.get("SHOP_LISTEN", "localhost:8000").split(":")
    print(f"The shop is at http://{host}:{port}", flush=True)
    http.server.ThreadingHTTPServer((host, int(port)), Handler).serve_forever()
