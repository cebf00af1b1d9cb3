"""Validates manifests: Kubernetes objects and custom resources by their schemas, without unknown
fields, and compositions as Docker Compose reads them.
"""

import copy
import functools
import re

import compose_spec
import jsonschema
import kubernetes_validate.utils
import yaml
from cloudcoil.models.keda import v1alpha1 as keda
from cloudcoil.models.prometheus_operator import v1 as monitoring

# The newest version of Kubernetes, and the oldest that the chart supports.
VERSIONS = ("1.37", "1.30")
CUSTOM = {
    ("keda.sh/v1alpha1", "ScaledObject"): keda.ScaledObject,
    ("monitoring.coreos.com/v1", "ServiceMonitor"): monitoring.ServiceMonitor,
}


# Otherwise it reads a file of megabytes for each object.
kubernetes_validate.utils.schema_contents = functools.cache(
    kubernetes_validate.utils.schema_contents
)


def close(schema):
    """Rejects fields that are not among the properties of an object."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            close(value)
    elif isinstance(schema, list):
        for value in schema:
            close(value)


@functools.cache
def custom_schema(identity):
    schema = CUSTOM[identity].model_json_schema(by_alias=True)
    close(schema)
    return jsonschema.Draft202012Validator(schema)


def problems(document):
    """What is wrong with an object of Kubernetes."""
    name = f"{document['kind']} {document['metadata']['name']}"
    identity = (document["apiVersion"], document["kind"])
    if identity in CUSTOM:
        errors = custom_schema(identity).iter_errors(document)
        return [f"{name}: {error.json_path}: {error.message}" for error in errors]
    found = []
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(copy.deepcopy(document), version, strict=True)
        except kubernetes_validate.ValidationError as error:
            path = ".".join(map(str, error.path))
            found.append(f"{name}: Kubernetes {version}: {path}: {error.message}")
        except kubernetes_validate.SchemaNotFoundError as error:
            found.append(f"{name}: {error}")
    return found


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


def composition(text):
    """A composition with its merge keys applied, and variables with their defaults; a `ValueError`
    if it is invalid."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)
    parsed = compose_spec.PyCompose.from_yaml(yaml.safe_dump(yaml.safe_load(text)))
    parsed.validate()
    return parsed.to_dict()


def seconds(text):
    """The seconds of a duration of a composition."""
    return compose_spec.parse_duration(text)
