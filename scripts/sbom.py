#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""usage: scripts/sbom.py TARBALL

Prints the bill of materials of a release's tarball as SPDX 2.3 in JSON: the package with its
checksum, each file with its own, licence and copyright, and the libraries that configure.ac asks
for. The same tarball gives the same text: the time in it is that of its newest file."""

import datetime
import hashlib
import json
import pathlib
import re
import sys
import tarfile

LICENSE = "BSD-2-Clause"
HOLDER = "The wcodec authors"
# What each library of configure.ac is licensed under; its versions are read from there.
LIBRARIES = {
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "libxxhash": "BSD-2-Clause",
    "jansson": "MIT",
    "hwloc": "BSD-3-Clause",
    "liblz4": "BSD-2-Clause",
}


def text_after(mark, data):
    """What stands after a mark of the file's own header, or None."""
    head = data[:4096].decode("utf-8", "replace")
    found = re.search(re.escape(mark) + r": *(.*?) *(?:\*/|-->)?$", head, re.MULTILINE)
    return found.group(1) if found else None


def describe_file(name, data):
    license_of = text_after("SPDX-License-Identifier", data)
    copyright_of = text_after("SPDX-FileCopyrightText", data)
    sums = [
        {"algorithm": kind, "checksumValue": hashlib.new(kind.lower(), data).hexdigest()}
        for kind in ("SHA1", "SHA256")
    ]
    return {
        "SPDXID": "SPDXRef-File-" + hashlib.sha1(name.encode()).hexdigest(),
        "fileName": "./" + name,
        "checksums": sums,
        "licenseConcluded": license_of or "NOASSERTION",
        "licenseInfoInFiles": [license_of or "NOASSERTION"],
        "copyrightText": copyright_of or "NOASSERTION",
    }


def libraries(configure):
    """Names, versions and whether they are needed."""
    for kind, arguments in re.findall(r"^WCODEC_(NEEDS|WITH)\((.*)", configure, re.MULTILINE):
        module = re.findall(r"\[([^\]]*)\]", arguments)[1 if kind == "NEEDS" else 2]
        name, _, version = module.partition(" >= ")
        if name in LIBRARIES:
            yield name, version, kind == "NEEDS"


def describe_library(name, version):
    package = {
        "SPDXID": "SPDXRef-" + name,
        "name": name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": LIBRARIES[name],
        "copyrightText": "NOASSERTION",
    }
    if version:
        package["comment"] = f"version {version} or later"
    return package


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: scripts/sbom.py TARBALL")
    path = pathlib.Path(sys.argv[1])
    name = path.name.removesuffix(".tar.xz")
    version = name.removeprefix("wcodec-")
    files, sums, newest, configure = [], [], 0, ""
    with tarfile.open(path) as tarball:
        for member in tarball:
            newest = max(newest, int(member.mtime))
            if not member.isfile():
                continue
            data = tarball.extractfile(member).read()
            inner = member.name.partition("/")[2]
            if inner == "configure.ac":
                configure = data.decode()
            files.append(describe_file(inner, data))
            sums.append(files[-1]["checksums"][0]["checksumValue"])
    known = list(libraries(configure))
    missing = set(LIBRARIES) - {library for library, _, _ in known}
    if missing:
        sys.exit("sbom: configure.ac does not ask for " + ", ".join(sorted(missing)))
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    own = {
        "SPDXID": "SPDXRef-wcodec",
        "name": "wcodec",
        "versionInfo": version,
        "packageFileName": path.name,
        "downloadLocation": "NOASSERTION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}],
        "filesAnalyzed": True,
        "packageVerificationCode": {
            "packageVerificationCodeValue": hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()
        },
        "licenseConcluded": LICENSE,
        "licenseDeclared": LICENSE,
        "licenseInfoFromFiles": sorted({file["licenseConcluded"] for file in files}),
        "copyrightText": "2026 " + HOLDER,
    }
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-wcodec")]
    relations += [("SPDXRef-wcodec", "CONTAINS", file["SPDXID"]) for file in files]
    for library, _, needed in known:
        if needed:
            relations.append(("SPDXRef-wcodec", "DEPENDS_ON", "SPDXRef-" + library))
        else:
            relations.append(("SPDXRef-" + library, "OPTIONAL_DEPENDENCY_OF", "SPDXRef-wcodec"))
    created = datetime.datetime.fromtimestamp(newest, datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://example.org/wcodec/{name}-{checksum}",
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Organization: " + HOLDER, "Tool: scripts/sbom.py"],
        },
        "packages": [own] + [describe_library(library, least) for library, least, _ in known],
        "files": files,
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in relations
        ],
    }
    json.dump(document, sys.stdout, indent=1)
    print()


main()
