"""What schemathesis cannot know of the demo: its agent, and what its model takes as an
order. Most bodies that name an agent name that one, and most texts are such orders, so
that runs come to work, wait, fail and be slow."""

import schemathesis

ORDERS = ["echo: a", "approve: a", "ask: a", "think: a", "fail", "parallel: a, b", "slow: 2"]


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    agent = body.get("agentId")
    if isinstance(agent, str) and len(agent) % 4:
        body["agentId"] = "demo"
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str) and content.strip() and len(content) % 5:
            message["content"] = ORDERS[len(content) % len(ORDERS)]
    return body


@schemathesis.hook
def before_call(context, case, kwargs):
    """An empty value in a path makes it another path: of POST /v1/threads with the empty
    id, which is none, a link is made that leads there."""
    for name, value in (case.path_parameters or {}).items():
        if value == "":
            case.path_parameters[name] = "none"
