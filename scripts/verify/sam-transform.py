"""sam-transform.py IN.yaml OUT.json [NAME=VALUE...]: a SAM template as plain CloudFormation, made by SAM's own code without a call to AWS, with values of parameters that it sees. AutoPublishCodeSha256 is not a parameter, but a property that make deploy sets in each function. A template without the transform is only read."""

import json
import logging
import sys

import boto3
from samtranslator.model.exceptions import InvalidDocumentException
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse


def open_doors(resources):
    """Permissions by which others than meant could invoke a function, with any event."""
    for name, resource in sorted(resources.items()):
        if resource["Type"] != "AWS::Lambda::Permission":
            continue
        properties = resource["Properties"]
        principal, action = properties["Principal"], properties["Action"]
        if principal.endswith(".amazonaws.com") and "SourceArn" not in properties:
            yield f"{name}: {principal} may invoke it for any account"
        if principal == "*" and action == "lambda:InvokeFunction" and not properties.get("InvokedViaFunctionUrl"):
            yield f"{name}: everybody may invoke it without the function URL"
    if "arn:aws:iam::*:user/*" in json.dumps(resources):
        yield "an API calls functions with the caller's own permissions"


def publish(template, digest):
    """Sets the digest of a release, as make deploy does in the built template."""
    for resource in template["Resources"].values():
        if "AutoPublishCodeSha256" in resource.get("Properties", {}):
            resource["Properties"]["AutoPublishCodeSha256"] = digest


def unpublished(resources, digest):
    """Functions that have no new version after a new digest: Lambda publishes changes only."""
    for name, resource in sorted(resources.items()):
        if resource["Type"] == "AWS::Lambda::Function" and not resource["Properties"].get("Description", "").endswith(" " + digest):
            yield f"{name}: its description does not end with the digest of the release"


def main(source, target, *values):
    logging.disable(logging.WARNING)  # about switches of the service
    with open(source, encoding="utf-8") as file:
        template = yaml_parse(file.read())
    if "Transform" not in template:  # a nested stack of plain CloudFormation
        return write(target, template)
    # The transform wants code that is already uploaded.
    template["Globals"]["Function"]["CodeUri"] = "s3://bucket/code.zip"
    values = dict(value.split("=", 1) for value in values)
    digest = values.pop("AutoPublishCodeSha256", "")
    publish(template, digest)
    session = boto3.Session(region_name="us-east-1")
    try:
        plain = Translator({}, Parser(), boto_session=session).translate(template, values)
    except InvalidDocumentException as error:
        sys.exit("\n".join([f"{source}: {error.message}", *(cause.message for cause in error.causes)]))
    found = list(open_doors(plain["Resources"]))
    if digest:
        found += unpublished(plain["Resources"], digest)
    if found:
        sys.exit("\n".join(found))
    write(target, plain)


def write(target, template):
    with open(target, "w", encoding="utf-8") as file:
        json.dump(template, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
