"""Uses a local host by the client that openapi-python-client has made, as the package
api on PYTHONPATH: use.py URL. It prints what ../expected.txt has."""

import json
import sys
import time

from api.api.default import (
    cancel_run,
    decide_run,
    delete_thread,
    get_approvals,
    get_run,
    get_thread,
    post_messages,
    post_thread,
)
from api.client import Client
from api.models.decision_action import DecisionAction
from api.models.decision_body import DecisionBody
from api.models.input_message import InputMessage
from api.models.input_message_role import InputMessageRole
from api.models.making import Making
from api.models.run_status import RunStatus
from api.models.submission import Submission

THREAD = "made-by-python"
client = Client(base_url=sys.argv[1])


def said(text):
    message = InputMessage(role=InputMessageRole.USER, content=text)
    return Submission(agent_id="demo", messages=[message])


def run(text):
    got = post_messages.sync_detailed(THREAD, client=client, body=said(text))
    if text.startswith("echo"):
        print("run queued:", got.status_code.value, got.parsed.status)
    return ended(got.parsed.run_id)


def ended(run_id):
    """Waits until a run is over or waits for a decision."""
    for _ in range(200):
        r = get_run.sync(run_id, client=client)
        if r.status == RunStatus.WAITING:
            ticket = r.tickets[0]
            print("run waiting:", ticket.tool_name, json.dumps(ticket.arguments), ticket.kind)
            return r
        if r.status == RunStatus.DONE:
            print(f"run done: {r.termination.type_}, {r.response}")
            return r
        time.sleep(0.05)
    raise SystemExit(f"run {run_id} does not end")


def approvals():
    page = get_approvals.sync(client=client, limit=10)
    print(f"approvals: {len(page.approvals)}, has_more {str(page.has_more).lower()}")


print("thread made:", post_thread.sync_detailed(client=client, body=Making(thread_id=THREAD)).status_code.value)
run("echo: hello")
waiting = run("approve: ship it")
approvals()
decision = DecisionBody(
    suspension_id=waiting.tickets[0].suspension_id, action=DecisionAction.RESUME, decision_id="d1"
)
for what in ("decision", "decision again"):
    got = decide_run.sync_detailed(waiting.run_id, client=client, body=decision)
    print(f"{what}: {got.status_code.value} {got.parsed.status}, duplicate {str(got.parsed.duplicate).lower()}")
ended(waiting.run_id)
approvals()
got = cancel_run.sync_detailed(waiting.run_id, client=client)
print("cancel of a run that is over:", got.status_code.value, got.parsed.code)
got = post_messages.sync_detailed(THREAD, client=client, body=said(" "))
print("a message that is blank:", got.status_code.value, got.parsed.code)
print("thread deleted:", delete_thread.sync_detailed(THREAD, client=client).status_code.value)
got = get_thread.sync_detailed(THREAD, client=client)
print("thread read:", got.status_code.value, got.parsed.code)
