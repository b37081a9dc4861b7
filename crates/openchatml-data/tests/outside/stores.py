"""Inputs and outputs in a store that is compatible with S3, with connections that break."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading

import boto3
from moto.server import ThreadedMotoServer

OCML = pathlib.Path(sys.argv[1]).resolve()
BUCKET = "data"


class Proxy:
    """Passes connections on to a server, and breaks some answers after a number of bytes."""

    def __init__(self, port):
        self.server = port
        self.breaks = 0
        self.after = 0
        self.broken = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.socket.accept()
            server = socket.create_connection(("127.0.0.1", self.server))
            threading.Thread(target=self.copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, True), daemon=True).start()

    def copy(self, source, sink, is_answer):
        passed = 0
        try:
            while chunk := source.recv(1 << 16):
                passed += len(chunk)
                if is_answer and self.breaks > 0 and passed > self.after:
                    self.breaks -= 1
                    self.broken += 1
                    break
                sink.sendall(chunk)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    proxy = Proxy(port)
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    os.environ.update(keys)
    s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1")
    s3.create_bucket(Bucket=BUCKET)
    environment = dict(os.environ, AWS_ENDPOINT=f"http://127.0.0.1:{proxy.port}", AWS_ALLOW_HTTP="true")

    def ocml(*args, status=0, kill_after=None):
        command = [OCML, "-q", "data", *args]
        child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        if kill_after is not None:
            while child.poll() is None and len(names("killed/")) < kill_after:
                pass
            child.kill()
        _, errors = child.communicate()
        assert kill_after is not None or child.returncode == status, (args, child.returncode, errors)
        return errors

    def names(prefix):
        found = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return [it["Key"].removeprefix(prefix) for it in found]

    def content(prefix):
        get = lambda name: s3.get_object(Bucket=BUCKET, Key=prefix + name)["Body"].read()
        return {name: get(name) for name in names(prefix)}

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in range(3):
            rows = []
            for number in range(4000):
                text = f"{file} {number} " + "word " * (number % 200)
                rows.append(json.dumps({"messages": [{"role": "user", "content": text}]}) + "\n")
            rows.append("no conversation\n")
            (folder / f"{file}.jsonl").write_text("".join(rows))
            s3.upload_file(str(folder / f"{file}.jsonl"), BUCKET, f"in/{file}.jsonl")
        args = ["convert", "-t", "chatml", "--shard-rows", "2500"]
        ocml(*args, f"{folder}/*.jsonl", "-o", f"{folder}/out", status=1)
        expected = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
        manifest = json.loads(expected.pop("_manifest.json"))
        rejects = {name for name in expected if name.startswith("_rejects")}

        def check(prefix):
            found = content(prefix)
            stored = json.loads(found.pop("_manifest.json"))
            assert stored["total"] == manifest["total"]
            assert found.keys() == expected.keys(), (sorted(found), sorted(expected))
            # Rejects name their files.
            assert all(found[name] == expected[name] for name in expected.keys() - rejects)

        for where in ["s3://data/in/*.jsonl", "s3://data/in/"]:
            prefix = "whole/" if "*" in where else "folder/"
            ocml(*args, where, "-o", f"s3://data/{prefix}", status=1)
            check(prefix)
        parquet = ["--output-format", "parquet"]
        ocml(*args, *parquet, "s3://data/in/*.jsonl", "-o", "s3://data/table", status=1)
        ocml("convert", "-t", "chatml", "s3://data/table/*.parquet", "-o", f"{folder}/back", "--output-format", "jsonl")
        back = b"".join(path.read_bytes() for path in sorted((folder / "back").glob("part-*")))
        assert back == b"".join(expected[name] for name in sorted(expected.keys() - rejects))

        # Connections that break now and then do no harm.
        proxy.breaks, proxy.after = 3, 100_000
        ocml(*args, "s3://data/in/*.jsonl", "-o", "s3://data/broken", status=1)
        assert proxy.broken == 3
        check("broken/")
        # If they always break, the error names the file and the place.
        proxy.breaks = 10**9
        errors = ocml(*args, "s3://data/in/*.jsonl", "-o", "s3://data/never", status=2)
        proxy.breaks = 0
        assert "cannot read `s3://data/in/0.jsonl` at row 1, byte 0" in errors, errors
        # A run that is killed continues.
        for kill_after in [2, 4, 6]:
            ocml(*args, "s3://data/in/*.jsonl", "-o", "s3://data/killed", kill_after=kill_after)
            ocml(*args, "s3://data/in/*.jsonl", "-o", "s3://data/killed", status=1)
            check("killed/")
            for key in names("killed/"):
                s3.delete_object(Bucket=BUCKET, Key="killed/" + key)
        errors = ocml(*args, "s3://nowhere/x.jsonl", "-o", "s3://data/none", status=2)
        assert errors.startswith("error: "), errors
    server.stop()
    print("stores: the same outputs as on this machine, with broken connections and after kills")


main()
