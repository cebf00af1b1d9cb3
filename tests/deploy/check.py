#!/usr/bin/env python3
"""Checks the manifests in `deploy`: by their schemas, and by what they name in a binary.

usage: start.py check.py PATH/TO/assay

Prints a line for each check. A check whose tool is not installed is reported and left out.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
sys.path.insert(0, str(DEPLOY / "kubernetes"))

import names  # noqa: E402, a module beside this one
import render  # noqa: E402, in deploy/kubernetes
import schemas  # noqa: E402
import tools  # noqa: E402

# After `server.shutdown_seconds`: the time to send replies and to close the record, as
# docs/OPERATIONS.md explains.
CLOSE_SECONDS = 17
# What a container has beside its own settings. The URL is any of PostgreSQL.
SECRETS = {"ASSAY_STORE_DATABASE": "postgres://assay:secret@host/assay"}
DATABASE_TOML = '[store]\ndatabase = "postgres://assay:secret@host/assay"\n'
ADDED_LABELS = {"job", "namespace", "service", "instance", "pod"}

# Values of the chart that must render, and what must be in the result; and values that must not.
VALUES = {
    (): "kind: StatefulSet",
    ("replicas=5", "cpus=16", "memoryGiB=32"): 'value: "4294967296"',
    ("tls.secret=certificate",): "scheme: HTTPS",
    ("tls.secret=certificate", "monitoring.enabled=true"): "serverName: assay",
    ("seccompProfile=",): "type: RuntimeDefault",
    ("monitoring.enabled=true", "scaling.enabled=true"): "kind: ScaledObject",
    ('env=[{"name":"ASSAY_ALERTS_WEBHOOK","value":"https://example"}]',): "https://example",
    ("networkPolicy.enabled=false", "limitCpu=false", "spool.storageClass=fast"): "fast",
}
REJECTED = {
    ("cpus=8",): "8 processors need at least 10 GiB",
    ("replica=3",): "replica",
    ("scaling.backlogSeconds=0",): "backlogSeconds",
}


class Checks:
    """Runs checks and collects their problems."""

    def __init__(self):
        self.failed = False

    def report(self, what, problems):
        print(f"{'FAILED' if problems else 'ok'}  {what}", flush=True)
        for problem in problems:
            print(f"        {problem}")
        self.failed |= bool(problems)

    def skip(self, what, missing):
        print(f"left out, because `{missing}` is not installed: {what}", flush=True)


def rendered(checks, helm, kubectl):
    """The manifests by the values from which they are rendered."""
    stale = subprocess.run(
        [sys.executable, DEPLOY / "kubernetes/render.py", "--helm", helm, "--check"],
        capture_output=True,
        text=True,
    )
    checks.report("the kustomize base is rendered from the chart", stale.stderr.splitlines())
    lint = subprocess.run(
        [helm, "lint", "--strict", "--quiet", DEPLOY / "kubernetes/chart"],
        capture_output=True,
        text=True,
    )
    checks.report("helm lint", [lint.stdout + lint.stderr] if lint.returncode else [])
    found, problems = {}, []
    for values, expected in VALUES.items():
        text = render.template(helm, values)
        found[", ".join(values) or "default values"] = schemas.documents(text)
        if expected not in text:
            problems.append(f"{values}: no `{expected}`")
    for values, expected in REJECTED.items():
        try:
            render.template(helm, values)
            problems.append(f"{values}: accepted")
        except subprocess.CalledProcessError as error:
            if expected not in error.stderr:
                problems.append(f"{values}: {error.stderr}")
    checks.report(f"the chart renders {len(VALUES)} and rejects {len(REJECTED)} values", problems)
    for folder in ("base", "example"):
        done = subprocess.run(
            [kubectl, "kustomize", DEPLOY / "kubernetes" / folder], capture_output=True, text=True
        )
        if done.returncode:
            checks.report(f"kustomize build {folder}", [done.stderr])
        found[f"kustomize {folder}"] = schemas.documents(done.stdout)
    replicas = [one for one in found["kustomize example"] if one["kind"] == "StatefulSet"]
    problems = [] if "replicas" not in replicas[0]["spec"] else ["`replicas` beside KEDA"]
    checks.report("kustomize build", problems)
    return found


def of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def variables_of(container):
    return {
        one["name"]: str(one["value"]) if "value" in one else SECRETS.get(one["name"], "http://x/")
        for one in container["env"]
    }


def check_pods(documents, binary, serving):
    """What is wrong with the containers of a set of manifests."""
    problems = []
    (nodes,) = of_kind(documents, "StatefulSet")
    (job,) = of_kind(documents, "Job")
    (config,) = of_kind(documents, "ConfigMap")
    pod = nodes["spec"]["template"]["spec"]
    (node,) = pod["containers"]
    settings = binary.settings(node["args"], variables_of(node), config["data"]["assay.toml"])
    port = node["ports"][0]["containerPort"]
    if not settings["server"]["listen"].endswith(f":{port}"):
        problems.append(f"listens on {settings['server']['listen']}, not on port {port}")
    for service in of_kind(documents, "Service"):
        if [one["targetPort"] for one in service["spec"]["ports"]] != [node["ports"][0]["name"]]:
            problems.append(f"Service {service['metadata']['name']}: another port")
    grace = pod["terminationGracePeriodSeconds"]
    pause = node["lifecycle"]["preStop"]["sleep"]["seconds"]
    if grace < pause + settings["server"]["shutdown_seconds"] + CLOSE_SECONDS:
        problems.append(f"a grace period of {grace} s is too short")
    memory = int(node["resources"]["limits"]["memory"].removesuffix("Gi")) << 30
    if settings["engine"]["body_bytes_in_flight"] * 4 > memory:
        problems.append("bodies may use more than a quarter of the memory")
    if settings["sandbox_workers"]["count"] != node["resources"]["requests"]["cpu"]:
        problems.append("more sandbox workers than processors")
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        path = node[probe]["httpGet"]["path"]
        if names.status(serving + path) != 200:
            problems.append(f"{probe}: no path `{path}`")
    (other,) = job["spec"]["template"]["spec"]["containers"]
    binary.check_command(other["args"])
    spool = settings["store"]["spool"]
    mounts = [mount["mountPath"] for mount in node["volumeMounts"] if mount["name"] == "data"]
    if not spool.startswith(f"{mounts[0]}/"):
        problems.append(f"the spool `{spool}` is not on the volume")
    user = re.search(r"^USER (\d+):", (DEPLOY / "docker/Dockerfile").read_text(), re.MULTILINE)
    if str(pod["securityContext"]["runAsUser"]) != user.group(1):
        problems.append("another user than that of the container image")
    return problems


def check_monitoring(documents, known, serving):
    problems = []
    for monitor in of_kind(documents, "ServiceMonitor"):
        for endpoint in monitor["spec"]["endpoints"]:
            if names.status(serving + endpoint["path"]) != 200:
                problems.append(f"no path `{endpoint['path']}`")
    for scaled in of_kind(documents, "ScaledObject"):
        for trigger in scaled["spec"]["triggers"]:
            query = trigger["metadata"]["query"]
            problems += names.unknown_metrics(query, known, ADDED_LABELS)
            if "assay_" not in query:
                problems.append(f"no metric of the node in `{query}`")
    return problems


def check_compose(binary, serving):
    problems = []
    composed = schemas.composition((DEPLOY / "compose/compose.yaml").read_text())["services"]
    proxy = (DEPLOY / "compose/haproxy.cfg").read_text()
    for path in re.findall(r"httpchk GET (\S+)", proxy):
        if names.status(serving + path) != 200:
            problems.append(f"haproxy.cfg: no path `{path}`")
    nodes = {name for name in composed if name.startswith("node-")}
    for backend in ("ready", "alive"):
        part = proxy.split(f"\nbackend {backend}\n")[1].split("\nbackend ")[0]
        servers = dict(re.findall(r"^    server (\S+) (\S+)$", part, re.MULTILINE))
        if servers != {name: f"{name}:8080" for name in nodes}:
            problems.append(f"haproxy.cfg: {backend} has the servers {servers}")
    # The image sets the address.
    image = re.search(r"ASSAY_SERVER_LISTEN=(\S+)", (DEPLOY / "docker/Dockerfile").read_text())
    for name in sorted(nodes):
        node = composed[name]
        variables = {"ASSAY_SERVER_LISTEN": image.group(1), **node["environment"]}
        settings = binary.settings(node["command"], variables, DATABASE_TOML)
        if not settings["server"]["listen"].endswith(":8080"):
            problems.append(f"{name}: another port")
        grace = schemas.seconds(node["stop_grace_period"])
        if grace < settings["server"]["shutdown_seconds"] + CLOSE_SECONDS:
            problems.append(f"{name}: stop_grace_period is too short")
        if not settings["store"]["spool"].startswith("/data/"):
            problems.append(f"{name}: the spool is not on the volume")
    arguments = composed["migrate"]["command"]
    binary.check_command(arguments)
    if composed["node-1"]["volumes"] == composed["node-2"]["volumes"]:
        problems.append("the nodes share a spool")
    return problems


def environment_file(text):
    """The variables of an environment file of systemd."""
    lines = (line for line in text.splitlines() if line and line[0] not in "#;")
    return {name: value.strip("'") for name, _, value in (line.partition("=") for line in lines)}


def unit_text(binary, instance="8080"):
    text = (DEPLOY / "systemd/assay@.service").read_text()
    return (
        text.replace("%S", "/var/lib")
        .replace("%i", instance)
        .replace("/opt/assay/bin/assay", binary.path)
    )


def check_systemd(binary):
    problems = []
    text = unit_text(binary)
    variables = environment_file((DEPLOY / "systemd/assay.env").read_text())
    variables.update(re.findall(r"^Environment=([A-Z_]+)=(.*)$", text, re.MULTILINE))
    (command,) = re.findall(r"^ExecStart=\S+ (.*)$", text, re.MULTILINE)
    address = variables.pop("ADDRESS")
    settings = binary.settings(command.replace("${ADDRESS}", address).split(), variables)
    stop = int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE).group(1))
    if stop < settings["server"]["shutdown_seconds"] + CLOSE_SECONDS:
        problems.append("TimeoutStopSec is too short")
    if settings["server"]["listen"] != f"{address}:8080":
        problems.append(f"listens on {settings['server']['listen']}")
    return problems


def verify_unit(binary):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "assay@8080.service"
        path.write_text(unit_text(binary))
        done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True)
        return done.stderr.splitlines() if done.returncode or done.stderr else []


def check_slurm(binary):
    problems = []
    script = (DEPLOY / "slurm/node.sh").read_text()
    (command,) = re.findall(r"^ *assay (.*) &$", script, re.MULTILINE)
    arguments = command.replace('"$LISTEN:$PORT"', "0.0.0.0:8080").split()
    variables = dict(re.findall(r"^export (ASSAY_[A-Z_]+)=(\S+)$", script, re.MULTILINE))
    variables = {name: value.replace("$NODE_CPUS", "2") for name, value in variables.items()}
    settings = binary.settings(arguments, {**variables, **SECRETS})
    job = (DEPLOY / "slurm/assay.sbatch").read_text()
    wait = int(re.search(r'await "\$nodes" (\d+)', job).group(1))
    trainer = int(re.search(r"TRAINER_SECONDS:-(\d+)", job).group(1))
    signal = int(re.search(r"--signal=B:TERM@(\d+)", job).group(1))
    if wait < settings["server"]["shutdown_seconds"] + CLOSE_SECONDS:
        problems.append("the job kills nodes that drain")
    if signal < trainer + wait:
        problems.append("the signal comes too late for the trainer and the nodes")
    for name in ("node.sh", "assay.sbatch"):
        done = subprocess.run(
            ["bash", "-n", DEPLOY / "slurm" / name], capture_output=True, text=True
        )
        problems += done.stderr.splitlines()
    return problems


def stale_names(binary):
    """Variables in all files of `deploy` that the binary does not know."""
    known = binary.variables()
    kinds = {".yaml", ".yml", ".env", ".service", ".sh", ".sbatch", ".md", ".toml", ".cfg", ".tpl"}
    found = []
    for path in sorted(DEPLOY.rglob("*")):
        if path.suffix in kinds or path.name == "Dockerfile":
            unknown = names.unknown_variables(path.read_text(), known)
            found += [f"{path.relative_to(ROOT)}: no setting `{name}`" for name in unknown]
    return found


def finds_mistakes(documents, binary, known, serving):
    """Mistakes that the checks do not find, and what they find without a mistake."""
    text = yaml.safe_dump_all(documents)
    mistakes = {
        # Nothing is found in what is unchanged.
        "kind: Job": "kind: Job",
        "replicas: 2": "replicaz: 2",
        "ASSAY_STORE_SPOOL": "ASSAY_STORE_SPOOLS",
        "path: /readyz": "path: /ready",
        "- --strict": "- --stricter",
        "- list": "- enumerate",
        "terminationGracePeriodSeconds: 55": "terminationGracePeriodSeconds: 50",
        "assay_items_in_flight": "assay_items_in_queue",
        "maxReplicaCount": "maxReplicas",
        'format = "json"': 'format = "yaml"',
    }
    missed = []
    for right, wrong in mistakes.items():
        if right not in text:
            missed.append(f"the manifests do not contain `{right}`")
            continue
        changed = schemas.documents(text.replace(right, wrong))
        found = [problem for document in changed for problem in schemas.problems(document)]
        try:
            found += check_pods(changed, binary, serving)
        except (ValueError, KeyError) as error:
            found.append(str(error))
        found += check_monitoring(changed, known, serving)
        if bool(found) == (right == wrong):
            missed.append(f"`{right}` changed to `{wrong}`: {found}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    asked = parser.parse_args()
    binary = names.Binary(str(pathlib.Path(asked.binary).resolve()))
    helm, kubectl = tools.tools()
    checks = Checks()
    checks.report("every variable in `deploy` is a setting", stale_names(binary))
    with binary.serving() as serving:
        known = names.series(serving)
        manifests = rendered(checks, helm, kubectl)
        for name, documents in manifests.items():
            problems = [problem for one in documents for problem in schemas.problems(one)]
            problems += attempt(check_pods, documents, binary, serving)
            problems += check_monitoring(documents, known, serving)
            checks.report(f"{len(documents)} objects: {name}", problems)
        all_parts = manifests["monitoring.enabled=true, scaling.enabled=true"]
        # KEDA sets the number of nodes.
        of_kind(all_parts, "StatefulSet")[0]["spec"]["replicas"] = 2
        checks.report("mistakes are found", finds_mistakes(all_parts, binary, known, serving))
        checks.report("compose", attempt(check_compose, binary, serving))
    checks.report("systemd: settings", attempt(check_systemd, binary))
    if shutil.which("systemd-analyze"):
        checks.report("systemd-analyze verify", verify_unit(binary))
    else:
        checks.skip("systemd-analyze verify", "systemd-analyze")
    checks.report("slurm", attempt(check_slurm, binary))
    if shutil.which("haproxy"):
        # Names of containers are not resolved here, which is a warning.
        done = subprocess.run(
            ["haproxy", "-c", "-q", "-f", DEPLOY / "compose/haproxy.cfg"],
            capture_output=True,
            text=True,
        )
        checks.report("haproxy -c", [done.stderr] if done.returncode else [])
    else:
        checks.skip("haproxy -c", "haproxy")
    sys.exit(1 if checks.failed else 0)


def attempt(check, *arguments):
    """The problems of a check, of which an error of the binary is one."""
    try:
        return check(*arguments)
    except ValueError as error:
        return [str(error)]


if __name__ == "__main__":
    main()
