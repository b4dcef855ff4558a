"""sam-transform.py IN.yaml OUT.json: a SAM template as plain CloudFormation, made by SAM's own code without a call to AWS."""

import json
import logging
import sys

import boto3
from samtranslator.model.exceptions import InvalidDocumentException
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse


def main(source, target):
    logging.disable(logging.WARNING)  # about switches of the service
    with open(source, encoding="utf-8") as file:
        template = yaml_parse(file.read())
    # The transform wants code that is already uploaded.
    template["Globals"]["Function"]["CodeUri"] = "s3://bucket/code.zip"
    session = boto3.Session(region_name="us-east-1")
    try:
        plain = Translator({}, Parser(), boto_session=session).translate(template, {})
    except InvalidDocumentException as error:
        sys.exit("\n".join([f"{source}: {error.message}", *(cause.message for cause in error.causes)]))
    with open(target, "w", encoding="utf-8") as file:
        json.dump(plain, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
