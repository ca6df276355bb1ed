"""Keys and certificates of a deployment on this machine."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


def write_certificates(folder: Path) -> None:
    """`ca.crt`, and `server.pem` with `server.key` for 127.0.0.1."""
    authority = ec.generate_private_key(ec.SECP384R1())
    issuer = _name("test authority")
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    own = (
        _certificate(issuer, issuer, authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), False)
        .sign(authority, hashes.SHA384())
    )
    server = ec.generate_private_key(ec.SECP384R1())
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    signed = (
        _certificate(_name("127.0.0.1"), issuer, server)
        .add_extension(x509.SubjectAlternativeName([address, x509.DNSName("localhost")]), False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), False
        )
        .sign(authority, hashes.SHA384())
    )
    pem = serialization.Encoding.PEM
    (folder / "ca.crt").write_bytes(own.public_bytes(pem))
    (folder / "server.pem").write_bytes(signed.public_bytes(pem))
    (folder / "server.key").write_bytes(
        _private(server, serialization.PrivateFormat.TraditionalOpenSSL)
    )


def write_key_pair(folder: Path, name: str) -> None:
    """`NAME.key` and `NAME.pub` of a device."""
    key = ec.generate_private_key(ec.SECP384R1())
    (folder / f"{name}.key").write_bytes(_private(key, serialization.PrivateFormat.OpenSSH))
    (folder / f"{name}.pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
    )


def _private(key: ec.EllipticCurvePrivateKey, kind: serialization.PrivateFormat) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())
