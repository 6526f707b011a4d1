package tlscert

import (
	"crypto/x509"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// A product makes certificates by itself that no client trusts: defaults that a server presents until it gets a
// certificate, those of test authorities, and those of authorities that are for other purposes.
type product struct {
	code   diag.Code // of the rule about its kind
	title  string    // the fault
	cause  string    // what the certificate is, after "The certificate for … "
	advice string
	signs  []sign // one of which a certificate has
}

// A sign is a pattern of the names in a certificate: each field that is not empty must match. An asterisk matches
// anything, case is ignored.
type sign struct {
	cn, org, unit, email          string // of the subject
	issuer, issuerOrg, issuerUnit string // of the issuer: common name, organization, unit
	san                           string // of a subject alternative name
	foreign                       bool   // it does not cover the name that was asked for
	machine                       bool   // it signed itself, and its subject is nothing but a name without a domain
}

// The rules about products, by what their certificates are for.
const (
	codeDefault     diag.Code = "tls.product.default"
	codeTesting     diag.Code = "tls.product.testing"
	codePrivate     diag.Code = "tls.product.private"
	codeIntercepted diag.Code = "tls.product.intercepted"
)

const (
	adviceDevice = "Install a certificate from a public authority in the settings of the device and select it for this " +
		"service, or do not expose the interface to the Internet."
	advicePanel = "Install a certificate for the domain in the panel, for instance with its Let's Encrypt feature, and " +
		"check that the domain is assigned to this server."
	adviceProxy = "Check from another network: a proxy between this check and the server replaces the certificate. If " +
		"the server itself is behind that proxy, install a certificate from a public authority there."
	causeProxy = "was made on the way by a program that decrypts the traffic, " +
		"and is not the one that the server presents"
	causeDefault = "is the one that it makes for itself and presents until another is installed"
)

// products is the table of all that are known, the more specific first.
var products = append([]product{{
	code: codeDefault, title: "Kubernetes ingress presents its default certificate",
	cause: "is the one that the ingress controller of Kubernetes presents where no " +
		"certificate is configured for the name",
	advice: "Set spec.tls of the Ingress with this host and its secretName, and check that the secret is of type " +
		"kubernetes.io/tls, exists in the same namespace and holds the certificate; cert-manager can issue it.",
	signs: []sign{{cn: "Kubernetes Ingress Controller Fake Certificate"}},
}, {
	code: codeDefault, title: "Traefik presents its default certificate",
	cause: "is the one that Traefik presents where no router has a certificate for the name",
	advice: "Check that a router matches the host and has tls with a certResolver, " +
		"and look for errors of the ACME challenge in the log of Traefik.",
	signs: []sign{{cn: "TRAEFIK DEFAULT CERT"}, {san: "*.traefik.default"}},
}, {
	code: codeDefault, title: "cert-manager presents its temporary certificate",
	cause: "is the placeholder that cert-manager puts into the secret until the real one is issued",
	advice: "Find out why the certificate is not issued: kubectl describe certificate, certificaterequest, " +
		"order and challenge name the reason.",
	signs: []sign{{issuer: "cert-manager.local"}},
}, {
	code: codeDefault, title: "OpenShift router presents its default certificate",
	cause: "is the one that the ingress operator of OpenShift makes for all routes without their own",
	advice: "Set defaultCertificate of the IngressController to a secret with a public certificate, " +
		"or give the route its own.",
	signs: []sign{{issuer: "ingress-operator@*"}},
}, {
	code: codeDefault, title: "Rancher presents its default certificate",
	cause: "is the one that Rancher or K3s makes for itself",
	advice: "Install Rancher with ingress.tls.source=letsEncrypt or secret, " +
		"or put the certificate into the secret tls-rancher-ingress.",
	signs: []sign{{issuer: "dynamiclistener-ca@*"}},
}, {
	code: codeDefault, title: "pfSense presents its default certificate",
	cause: causeDefault, advice: adviceDevice,
	signs: []sign{{org: "pfSense *self-signed certificate"}, {cn: "pfSense-*"}},
}, {
	code: codeDefault, title: "OPNsense presents its default certificate",
	cause: causeDefault, advice: adviceDevice,
	signs: []sign{{org: "OPNsense self-signed web certificate"}, {cn: "OPNsense.*"}},
}, {
	code: codeDefault, title: "Plesk presents its default certificate",
	cause: causeDefault, advice: advicePanel,
	signs: []sign{{cn: "Plesk"}, {org: "Plesk*"}, {cn: "Parallels Panel"}, {org: "Parallels*"}},
}, {
	code: codeDefault, title: "cPanel presents its default certificate",
	cause: causeDefault,
	advice: "Run AutoSSL for the domain in cPanel or WHM, and look there for the reason if it fails: " +
		"often the domain does not point to this server.",
	signs: []sign{{email: "ssl@*"}, {issuer: "cPanel*", org: "cPanel*"}},
}, {
	code: codeDefault, title: "Synology DSM presents its default certificate",
	cause:  causeDefault,
	advice: "Get a certificate in Control Panel > Security > Certificate, and assign it to this service.",
	signs:  []sign{{issuerOrg: "Synology Inc."}, {org: "Synology Inc."}},
}, {
	code: codeDefault, title: "QNAP QTS presents its default certificate",
	cause:  causeDefault,
	advice: "Replace the certificate in Control Panel > Security > SSL Certificate & Private Key.",
	signs:  []sign{{org: "QNAP Systems*"}, {cn: "QNAP NAS"}},
}, {
	code: codeDefault, title: "UniFi presents its default certificate",
	cause: causeDefault, advice: adviceDevice,
	signs: []sign{{cn: "UniFi"}, {cn: "unifi.local"}, {org: "Ubiquiti*"}, {org: "ubnt.com"}},
}, {
	code: codeDefault, title: "Proxmox VE presents its default certificate",
	cause:  "is of the authority that each Proxmox cluster makes for itself",
	advice: "Order a certificate under Node > System > Certificates by ACME, or upload one there.",
	signs: []sign{{issuerOrg: "PVE Cluster Manager CA"}, {org: "Proxmox Virtual Environment"},
		{org: "Proxmox Backup Server"}, {org: "Proxmox Mail Gateway"}},
}, {
	code: codeDefault, title: "VMware presents its default certificate",
	cause: causeDefault, advice: adviceDevice,
	signs: []sign{{unit: "VMware ESX Server Default Certificate"}, {issuerOrg: "VMware Installer"},
		{issuerUnit: "VMware Engineering"}, {unit: "VMware Engineering"}},
}, {
	code: codeDefault, title: "F5 BIG-IP presents its default certificate",
	cause: causeDefault, advice: adviceDevice, signs: []sign{{org: "MyCompany", unit: "MyOrg"}},
}, {
	code: codeDefault, title: "SonicWall presents its default certificate",
	cause: causeDefault, advice: adviceDevice, signs: []sign{{org: "HTTPS Management Certificate for SonicWALL*"}},
}, {
	code: codeDefault, title: "NetScaler presents its default certificate",
	cause: causeDefault, advice: adviceDevice, signs: []sign{{org: "Citrix ANG"}},
}, {
	code: codeDefault, title: "WatchGuard Firebox presents its default certificate",
	cause: causeDefault, advice: adviceDevice, signs: []sign{{org: "WatchGuard*"}},
}, {
	code: codeDefault, title: "Cisco IOS presents its default certificate",
	cause: causeDefault, advice: adviceDevice, signs: []sign{{cn: "IOS-Self-Signed-Certificate-*"}},
}, {
	code: codeDefault, title: "Dell iDRAC presents its default certificate",
	cause: causeDefault, advice: adviceDevice, signs: []sign{{org: "Dell Inc.", unit: "Remote Access Group"}},
}, {
	code: codeDefault, title: "HPE iLO presents its default certificate",
	cause: causeDefault, advice: adviceDevice, signs: []sign{{issuer: "Default Issuer (Do not trust)"}},
}, {
	code: codeDefault, title: "Router presents its default certificate",
	cause: causeDefault, advice: adviceDevice,
	signs: []sign{{cn: "fritz.box"}, {san: "fritz.box"}, {org: "OpenWrt*"}, {cn: "OpenWrt"}, {cn: "webfig"}},
}, {
	code: codeDefault, title: "TrueNAS presents its default certificate",
	cause: causeDefault, advice: adviceDevice, signs: []sign{{org: "iXsystems*"}},
}, {
	code: codeDefault, title: "Webmin presents its default certificate",
	cause:  causeDefault,
	advice: "Request a certificate in Webmin Configuration > SSL Encryption > Let's Encrypt.",
	signs:  []sign{{org: "Webmin Webserver on *"}},
}, {
	code: codeDefault, title: "Zimbra presents its default certificate",
	cause:  causeDefault,
	advice: "Deploy a public certificate with zmcertmgr deploycrt comm, and restart the services.",
	signs:  []sign{{unit: "Zimbra Collaboration Server"}, {issuerUnit: "Zimbra Collaboration Server"}},
}, {
	code: codeDefault, title: "Certificate was made with the default answers of OpenSSL",
	cause: "signed itself, and was made as an example: its organization is what openssl req suggests",
	advice: "Get a certificate from a public authority (with ACME it is free and automatic), and check that the web " +
		"server has a server block for this name: where it has none, it presents that of another.",
	signs: []sign{{org: "Internet Widgits Pty Ltd"}, {org: "Default Company Ltd"}, {org: "SomeOrganization"}},
}, {
	code: codeDefault, title: "Server presents the default certificate of its system",
	cause: "is the one that the operating system or web server was installed with (snakeoil, localhost): " +
		"it is for the machine, and signed itself",
	advice: "Get a certificate for the name from a public authority (with ACME it is free and automatic), and " +
		"configure it in the web server in place of the one under ssl-cert-snakeoil or localhost.",
	signs: []sign{{cn: "localhost", foreign: true}, {cn: "*.localdomain", foreign: true},
		{issuer: "ca-*", issuerOrg: "Unspecified", foreign: true}, {machine: true, foreign: true}},
}, {
	code: codeTesting, title: "Certificate comes from Let's Encrypt's staging environment",
	cause: "is for tests, of the staging environment of Let's Encrypt, which no client trusts",
	advice: "Request the certificate from the production environment: use " +
		"https://acme-v02.api.letsencrypt.org/directory (certbot without --staging and --test-cert), " +
		"and force the renewal.",
	signs: []sign{{issuerOrg: "(STAGING)*"}, {issuer: "(STAGING)*"}, {issuer: "Fake LE *"}},
}, {
	code: codeTesting, title: "Certificate comes from Pebble, an ACME server for tests",
	cause:  "is of Pebble, which makes a new authority at each start",
	advice: "Set the ACME directory of a public authority, and request the certificate again.",
	signs:  []sign{{issuer: "Pebble Intermediate CA*"}, {issuer: "Pebble Root CA*"}},
}, {
	code: codeTesting, title: "Certificate was made by mkcert for development",
	cause:  "is of an authority that mkcert made on a developer's machine and only that machine trusts",
	advice: "Get a certificate from a public authority; with ACME it is free and automatic.",
	signs:  []sign{{issuerOrg: "mkcert development CA"}, {org: "mkcert development certificate"}},
}, {
	code: codePrivate, title: "Certificate comes from Caddy's local authority",
	cause: "is of the authority that Caddy makes for itself and uses for local names and for tls internal",
	advice: "Remove tls internal and local_certs from the Caddyfile, and make the name and ports 80 and 443 " +
		"reachable, so that Caddy gets a public certificate.",
	signs: []sign{{issuer: "Caddy Local Authority*"}},
}, {
	code: codePrivate, title: "Certificate comes from Cloudflare's Origin CA, which browsers refuse",
	cause: "is for the connection between Cloudflare and the origin: Cloudflare alone trusts it",
	advice: "Proxy the DNS record through Cloudflare, so that visitors get its edge certificate; if clients are to " +
		"connect directly, install a certificate from a public authority.",
	signs: []sign{{issuerUnit: "CloudFlare Origin SSL*"}, {unit: "CloudFlare Origin CA"}, {issuer: "CloudFlare Origin*"}},
}, {
	code: codePrivate, title: "Certificate comes from a FortiGate's own authority",
	cause: "is of Fortinet's device authority, by which a FortiGate signs its factory certificate " +
		"and those of traffic that it inspects",
	advice: "Import a public certificate under System > Certificates if this is a FortiGate, and select it for the " +
		"service; if traffic only passes one that inspects it, exempt the host there, or check from another network.",
	signs: []sign{{issuerOrg: "Fortinet*"}, {org: "Fortinet*"}},
}, {
	code: codePrivate, title: "Kubernetes API presents a certificate of its cluster",
	cause:  "is of the authority of a Kubernetes cluster, which is for its nodes and clients",
	advice: "Do not expose the API to browsers; publish the service by an Ingress with a public certificate.",
	signs: []sign{{issuer: "kubernetes"}, {issuer: "kubernetes-ca"}, {issuer: "k3s-server-ca@*"},
		{issuer: "rke2-server-ca@*"},
		{issuer: "kube-apiserver-*signer"}},
}, {
	code: codePrivate, title: "Certificate comes from a database service's own authority",
	cause: "is of the authority of a managed database (Amazon RDS, Google Cloud SQL), " +
		"which its clients are configured with",
	advice: "Give the clients the root certificate of the database service; browsers do not trust it.",
	signs:  []sign{{issuerUnit: "Amazon RDS"}, {issuer: "Amazon RDS*"}, {issuer: "Google Cloud SQL Server CA"}},
}, {
	code: codePrivate, title: "Certificate comes from a private smallstep authority",
	cause: "is of an authority that step-ca runs for an organization",
	advice: "Install the root of the authority on all clients, " +
		"or use a public authority for those that you do not manage.",
	signs: []sign{{issuer: "Smallstep *"}, {issuerOrg: "Smallstep*"}},
}}, intercepting()...)

// intercepting makes the rows of programs that decrypt what passes them.
func intercepting() (list []product) {
	for _, p := range interceptors {
		list = append(list, product{codeIntercepted, "TLS is intercepted by " + p.name, causeProxy, adviceProxy, p.signs})
	}
	return list
}

// interceptors are programs that decrypt what passes them.
var interceptors = []struct {
	name  string
	signs []sign
}{
	{"Zscaler", []sign{{issuerOrg: "Zscaler*"}}},
	{"Netskope", []sign{{issuerOrg: "Netskope*"}, {issuer: "*.goskope.com"}}},
	{"Cisco Umbrella", []sign{{issuer: "Cisco Umbrella*"}}},
	{"Sophos", []sign{{issuerOrg: "Sophos*"}, {issuer: "Sophos*"}}},
	{"Palo Alto Networks", []sign{{issuerOrg: "Palo Alto Networks*"}}},
	{"Check Point", []sign{{issuerOrg: "Check Point*"}}},
	{"Blue Coat", []sign{{issuerOrg: "Blue Coat*"}}},
	{"Kaspersky", []sign{{issuer: "Kaspersky*"}, {issuerOrg: "AO Kaspersky Lab"}}},
	{"Avast or AVG", []sign{{issuer: "Avast*"}, {issuer: "AVG *"}, {issuerOrg: "Avast*"}}},
	{"ESET", []sign{{issuer: "ESET SSL Filter CA"}}},
	{"Bitdefender", []sign{{issuer: "Bitdefender*"}}},
	{"mitmproxy", []sign{{issuer: "mitmproxy"}}},
	{"Charles Proxy", []sign{{issuer: "Charles Proxy*"}}},
	{"Fiddler", []sign{{issuer: "DO_NOT_TRUST_FiddlerRoot*"}}},
	{"Burp Suite", []sign{{issuer: "PortSwigger CA"}}},
	{"a firewall of Trend Micro", []sign{{issuerOrg: "Trend Micro*"}}},
	{"McAfee or Skyhigh Security", []sign{{issuerOrg: "McAfee*"}, {issuerOrg: "Skyhigh*"}}},
}

// recognize returns the product that made the first certificate of a chain, by its names and those of the issuers; nil
// if none is known. Foreign says that it does not cover the name that was asked for.
func recognize(chain []*x509.Certificate, foreign bool) *product {
	n := chainNames{leaf: chain[0], foreign: foreign, subject: pki.ParseName(chain[0].RawSubject)}
	for _, c := range chain {
		n.issuers = append(n.issuers, pki.ParseName(c.RawIssuer))
	}
	for _, a := range pki.Attributes(chain[0].RawSubject) {
		if a.Type == emailAddress {
			n.emails = append(n.emails, a.Value)
		}
	}
	for i := range products {
		if slices.ContainsFunc(products[i].signs, n.have) {
			return &products[i]
		}
	}
	return nil
}

// emailAddress is the attribute of a subject that holds a mail address (RFC 2985 section 5.2.1).
const emailAddress = "1.2.840.113549.1.9.1"

// chainNames are the names by which a product is recognized.
type chainNames struct {
	leaf    *x509.Certificate
	foreign bool
	subject pki.Name
	emails  []string
	issuers []pki.Name
}

// have reports whether the names are like a sign; an issuer may be that of any certificate of the chain.
func (n *chainNames) have(s sign) bool {
	if s.foreign && !n.foreign {
		return false
	}
	if s.machine {
		name := n.subject.CommonName
		return pki.SelfSigned(n.leaf) && n.subject.Raw == "CN="+name && !strings.ContainsAny(name, ". ")
	}
	return like(s.cn, n.subject.CommonName) && like(s.org, n.subject.Organization...) &&
		like(s.unit, n.subject.OrganizationalUnit...) && like(s.email, n.emails...) && like(s.san, n.leaf.DNSNames...) &&
		slices.ContainsFunc(n.issuers, func(i pki.Name) bool {
			return like(s.issuer, i.CommonName) && like(s.issuerOrg, i.Organization...) &&
				like(s.issuerUnit, i.OrganizationalUnit...)
		})
}

// like reports whether one of some texts matches a pattern; all do if it is empty.
func like(pattern string, texts ...string) bool {
	if pattern == "" {
		return true
	}
	for _, text := range texts {
		if glob(strings.ToLower(pattern), strings.ToLower(text)) {
			return true
		}
	}
	return false
}

// glob matches a text with a pattern in which asterisks match anything.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return ok && text == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, parts[last])
}
