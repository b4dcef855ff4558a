"""The moto server as the tests use it: python aws_server.py --host 127.0.0.1 --port 0.

It serves what moto serves. What moto looks up again for each request and what does not
change is looked up once, requests are not logged, queries look at the items that they
may find, and items are written as they are stored: a request takes half of the processor
or less, a query in a table of a thousand items a tenth. Requests for DynamoDB, which are
nearly all, go to moto without werkzeug and flask, and leave their connection open.
"""
import base64
import copy
import functools
import gc
import itertools
import os
import sys
from collections import deque

os.environ.setdefault("MOTO_DISABLE_GLOBAL_CORS", "true")  # no browser asks it
os.environ.setdefault("MOTO_ACCOUNT_ID", "123456789012")  # there is one account, whatever the keys

from moto import backends
from moto.core import responses, utils
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.serialize import BaseJSONSerializer, ResponseSerializer
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing.expressions import UpdateExpressionParser
from moto.dynamodb.responses import DynamoHandler
from moto.server import main
from moto.utilities.utils import get_partition
from werkzeug.serving import WSGIRequestHandler

# moto looks at an item and writes it in two steps. A thread that never has to give way
# keeps them together, as DynamoDB does; one that waits for a socket gives way all the same.
sys.setswitchinterval(3600)

# The garbage of requests is freed by counts of references. Stored items are none, and
# collections look at all of them.
gc.set_threshold(100_000, 50, 50)

modules = tuple(backends.list_of_moto_modules())
backends.list_of_moto_modules = lambda: modules
methods = functools.cache(utils.method_names_from_class)
utils.method_names_from_class = responses.method_names_from_class = methods
WSGIRequestHandler.log_request = lambda self, code="-", size="-": None


def wire(value):
    """An attribute of a stored item as it is in JSON."""
    if isinstance(value, DynamoType):
        value = {value.type: value.value}
    for kind, content in value.items():
        if kind == "M":
            return {kind: {name: wire(member) for name, member in content.items()}}
        if kind == "L":
            return {kind: [wire(member) for member in content]}
        if kind == "B":
            return {kind: binary(content)}
        if kind == "BS":
            return {kind: [binary(member) for member in content]}
        return {kind: content}


def binary(content):
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


def structure(self, serialized, value, shape, key, general=BaseJSONSerializer._serialize_type_structure):
    """An attribute at once. By the general rules for structures it takes a millisecond."""
    if shape.name == "AttributeValue" and value is not None:
        serialized[self.get_serialized_name(shape, key)] = wire(value)
    else:
        general(self, serialized, value, shape, key)


BaseJSONSerializer._serialize_type_structure = structure


def member(self, value, key, shape, general=ResponseSerializer.get_value):
    """A member of a response. DynamoDB's are dictionaries with the names of the wire."""
    if type(value) is dict and self.operation_model.service_model.service_name == "dynamodb":
        return value.get(key)
    return general(self, value, key, shape)


ResponseSerializer.get_value = member


def query(self, hash_key, comparison, values, limit, start, forward, projections, index=None, *rest, all_items=Table.query, **options):
    """moto's query, which first sorts all items of the table, with those that it may find."""
    table = copy.copy(self)
    if not index:
        table.items = {hash_key: self.items[hash_key]} if hash_key in self.items else {}
    elif self.range_key_attr:
        keys = options.get("hash_key_conditions") or ()
        table.items = {
            part: {place: item for place, item in items.items() if all(name in item.attrs and item.attrs[name] == value for name, value in keys)}
            for part, items in self.items.items()
        }
    return all_items(table, hash_key, comparison, values, limit, start, forward, projections, index, *rest, **options)


Table.query = query


def lex(self, lexed={}, general=ConditionExpressionParser._lex_condition_expression):
    if self.condition_expression not in lexed:
        lexed[self.condition_expression] = tuple(general(self))
    return deque(lexed[self.condition_expression])


# The words of a condition, and the tree of an update, which is copied before it changes, are
# found once for each text.
ConditionExpressionParser._lex_condition_expression = lex
UpdateExpressionParser.make = functools.cache(UpdateExpressionParser.make)

numbers = itertools.count(1)


def request_id(headers):
    headers["x-amzn-requestid"] = f"{next(numbers):052d}"
    return headers["x-amzn-requestid"]


responses.gen_amzn_requestid_long = request_id


@functools.cache
def parser(action):
    return PROTOCOL_PARSERS["json"](utils.get_service_model("dynamodb").operation_model(action), map_type=DynamoHandler.PROTOCOL_PARSER_MAP_TYPE)


class Straight(DynamoHandler):
    """A request for DynamoDB, prepared as BaseResponse.setup_class prepares it."""

    def __init__(self, headers, body):
        super().__init__()
        authorization = headers["Authorization"]
        self.is_werkzeug_request, self.method, self.path, self.raw_path, self.uri_match = True, "POST", "/", "/", None
        self.uri = f"http://{headers['Host']}/"
        self.headers, self.body, self.raw_body, self.form_data = headers, body.decode(), body, {}
        self.querystring = self.data = {}
        self.region = authorization.split(",")[0].split("/")[2]
        self.partition = get_partition(self.region)
        self.response_headers = {"server": "amazon.com"}
        self.access_key, self.current_account = self.get_access_key(), self.get_current_account()
        self.params = parser(self._get_action()).parse({"body": self.body})


def dispatch(self, general=WSGIRequestHandler.run_wsgi):
    """Serves a request, and leaves the connection open after one for DynamoDB. werkzeug closes
    it, and waits up to 10 ms before that for what the client might still send."""
    headers = self.headers
    if not headers.get("X-Amz-Target", "").startswith("DynamoDB_20120810.") or "AWS4" not in headers.get("Authorization", "") or "Content-Length" not in headers:
        return general(self)
    body = self.rfile.read(int(headers["Content-Length"]))
    status, more, content = Straight(headers, body).call_action()
    content = content.encode() if isinstance(content, str) else content
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Error'}", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in more.items() if name.lower() not in ("status", "content-length")]
    self.wfile.write(("\r\n".join(lines) + "\r\n\r\n").encode() + content)


WSGIRequestHandler.run_wsgi = dispatch

main()
