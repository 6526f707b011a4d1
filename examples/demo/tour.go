package main

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/httpapi"
)

// A stop of the tour is a call worth trying. One without a check examines all of a domain.
type stop struct {
	about  string
	check  string // path of the endpoint
	args   string // for the command line
	fields string // of the request, as JSON
	status int
	sees   string // part of the reply
}

// report is an aggregate report of DMARC about plain.example.
//
//go:embed report.xml
var report string

// reportFields is the request to analyze it.
func reportFields() string { return `{"xml":` + strconv.Quote(report) + `}` }

// markText is a mark certificate of example.com.
//
//go:embed mark.pem
var markText string

// markFields is the request to judge it for another domain.
func markFields() string { return `{"domain":"good.example","pem":` + strconv.Quote(markText) + `}` }

// signingText is a certificate signing request without subject alternative names.
//
//go:embed request.pem
var signingText string

// signingFields is the request to judge it.
func signingFields() string { return `{"csr":` + strconv.Quote(signingText) + `}` }

// codeImage is a QR code of a Wi-Fi network.
//
//go:embed code.png
var codeImage []byte

// codeFields is the request to read it.
func codeFields() string {
	return `{"image_base64":"` + base64.StdEncoding.EncodeToString(codeImage) + `"}`
}

// tour lists the stops: a story first, then all that can be tried. Letters are sent a minute before the time.
func tour(at time.Time) []stop { return append(story(), singles(at)...) }

// story goes from a domain where nothing is right to one where all is, and then through the faults of a company as
// somebody would who is called for help: each stop explains a line of the screen before.
func story() []stop {
	const harbour = `{"domain":"harbour.example"}`
	return []stop{
		{about: "The worst domain of this Internet, on one screen", args: "hopeless.example",
			sees: "Nobody can send mail to this domain"},
		{about: "One that is well", args: "good.example", sees: "in order"},
		{about: "Harbour Coffee has a shop, a newsletter, and nobody who looks after them: customers miss their order mails",
			args: "harbour.example", sees: "Receivers may refuse mail"},
		{"Why: its SPF record includes a newsletter service that is gone, so that receivers give up on all of it",
			"spf/lookup", "harbour.example", harbour, 200, `"spf.include.missing"`},
		{"Its messages are signed, with a key that is shorter than receivers like", "dkim/lookup", "harbour.example s1",
			`{"domain":"harbour.example","selector":"s1"}`, 200, `"dkim.key.size`},
		{"What is forged in its name is delivered: DMARC only watches", "dmarc/lookup",
			"harbour.example", harbour, 200, `"dmarc.policy.none"`},
		{"Mail to it travels without proof of who receives it: the certificate was forgotten", "smtp/check",
			"harbour.example", harbour, 200, `"smtp.certificate.expired"`},
		{"Every other lookup fails: one of its name servers knows nothing of the zone", "domain/dns-check",
			"harbour.example", harbour, 200, `"zone.ns.unauthoritative"`},
		{"Its shop has a certificate for five more days, and still speaks TLS 1.0", "certificates/ssl/check",
			"harbour.example", `{"host":"harbour.example"}`, 200, `"tls.certificate.expires_now"`},
		{"Whoever shares a Wi-Fi with a customer can take over the session", "http/headers-check", "https://harbour.example/",
			`{"url":"https://harbour.example/"}`, 200, `"headers.cookies.session.secure"`},
		{"And in twelve days the domain itself ends", "rdap/lookup",
			"harbour.example", harbour, 200, `"rdap.expiry.expiring"`},
		{"The SPF record that mends the mail, before it is published", "spf/validate",
			"'v=spf1 mx include:_spf.shop.example ~all'",
			`{"record":"v=spf1 mx include:_spf.shop.example ~all"}`, 200, `"valid":true`},
	}
}

// singles are operations in order, each with what it can find.
func singles(at time.Time) []stop {
	return []stop{
		{"A domain that does everything right", "mta-sts/lookup", "good.example",
			`{"domain":"good.example"}`, 200, `"score_band":"excellent"`},
		{"One without MTA-STS", "mta-sts/lookup", "plain.example", `{"domain":"plain.example"}`, 200, `"state":"missing"`},
		{"One whose policy is only tested", "mta-sts/lookup", "testing.example",
			`{"domain":"testing.example"}`, 200, `"mtasts.policy.mode.testing"`},
		{"One whose policy leaves out a mail exchanger", "mta-sts/lookup", "gap.example",
			`{"domain":"gap.example"}`, 200, `"mtasts.mx.uncovered"`},
		{"One whose certificate has expired", "mta-sts/lookup", "expired.example",
			`{"domain":"expired.example"}`, 200, `"mtasts.policy.certificate.expired"`},
		{"One with a mistake in its record", "mta-sts/lookup", "typo.example",
			`{"domain":"typo.example"}`, 200, `"state":"invalid"`},
		{"A zone that is served without a fault", "domain/dns-check", "good.example",
			`{"domain":"good.example"}`, 200, `"score_band":"excellent"`},
		{"One that lists a server that does not serve it", "domain/dns-check", "lame.example",
			`{"domain":"lame.example"}`, 200, `"zone.ns.unauthoritative"`},
		{"Records that every resolver has", "resolve/propagation", "good.example",
			`{"qname":"good.example"}`, 200, `"propagation_percent":100`},
		{"An address that one resolver still has from before a move", "resolve/propagation", "moving.example",
			`{"qname":"moving.example"}`, 200, `"propagation.resolver.stale"`},
		{"A chain of trust from the root down", "dnssec/check", "good.example",
			`{"domain":"good.example"}`, 200, `"status":"secure"`},
		{"One that breaks", "dnssec/check", "bogus.example", `{"domain":"bogus.example"}`, 200, `"status":"bogus"`},
		{"A registration in good standing", "rdap/lookup", "good.example",
			`{"domain":"good.example"}`, 200, `"registered":true`},
		{"One that expires in five days", "rdap/lookup", "lapsing.example",
			`{"domain":"lapsing.example"}`, 200, `"rdap.expiry.expires_now"`},
		{"One that is free", "rdap/lookup", "free.example", `{"domain":"free.example"}`, 200, `"registered":false`},
		{"An address that no registry gives out", "ip/whois", "192.0.2.12",
			`{"ip":"192.0.2.12"}`, 200, `"special_purpose"`},
		{"Who may send mail for a domain", "spf/lookup", "good.example",
			`{"domain":"good.example"}`, 200, `"score_band":"excellent"`},
		{"One that authorizes the whole Internet", "spf/lookup", "open.example",
			`{"domain":"open.example"}`, 200, `"spf.all.pass"`},
		{"A record before it is published", "spf/validate", "'v=spf1 inclde:_spf.news.example -all'",
			`{"record":"v=spf1 inclde:_spf.news.example -all"}`, 200, `"spf.syntax.mechanism"`},
		{"A key with which mail is signed", "dkim/lookup", "good.example s1",
			`{"domain":"good.example","selector":"s1"}`, 200, `"score_band":"excellent"`},
		{"One that was pasted with the lines of its PEM file", "dkim/lookup", "armour.example s1",
			`{"domain":"armour.example","selector":"s1"}`, 200, `"dkim.key.base64"`},
		{"A key record before it is published", "dkim/validate", "'k=rsa; v=DKIM1; p='",
			`{"record":"k=rsa; v=DKIM1; p="}`, 200, `"dkim.record.version"`},
		{"A domain whose forged mail is rejected", "dmarc/lookup", "good.example",
			`{"domain":"good.example"}`, 200, `"score_band":"excellent"`},
		{"One that only watches, and sends its reports where nobody takes them", "dmarc/lookup", "watch.example",
			`{"domain":"watch.example"}`, 200, `"dmarc.destination.unauthorized"`},
		{"One whose policy has a typing error", "dmarc/lookup", "slip.example",
			`{"domain":"slip.example"}`, 200, `\"reject\" is probably meant`},
		{"A policy before it is published", "dmarc/validate", "'v=DMARC1; p=reject; rua=dmarc@good.example'",
			`{"record":"v=DMARC1; p=reject; rua=dmarc@good.example"}`, 200, `"dmarc.uri.invalid"`},
		{"A domain that hears from senders how TLS went", "tls-rpt/lookup", "good.example",
			`{"domain":"good.example"}`, 200, `"score_band":"excellent"`},
		{"One that left out the scheme of an address", "tls-rpt/lookup", "deaf.example",
			`{"domain":"deaf.example"}`, 200, `rua=mailto:tls@deaf.example,mailto:tls@good.example`},
		{"A domain whose logo every mailbox can show", "bimi/lookup", "good.example",
			`{"domain":"good.example"}`, 200, `"logo_matches_certificate":true`},
		{"One whose logo has a script in it", "bimi/lookup", "sketch.example",
			`{"domain":"sketch.example"}`, 200, `"bimi.logo_file.invalid"`},
		{"A domain whose mail servers DANE protects", "dane/lookup", "good.example",
			`{"domain":"good.example"}`, 200, `"complete":true`},
		{"One whose certificate was renewed, and its TLSA record forgotten", "dane/lookup", "renewed.example",
			`{"domain":"renewed.example"}`, 200, `"dane.certificate.mismatch"`},
		{"Mail servers that do everything right", "smtp/check", "good.example",
			`{"domain":"good.example"}`, 200, `"score_band":"excellent"`},
		{"One that relays mail for strangers", "smtp/check", "relay.example",
			`{"domain":"relay.example"}`, 200, `"smtp.relay.open"`},
		{"One whose certificate has expired", "smtp/check", "expired.example",
			`{"domain":"expired.example"}`, 200, `"smtp.certificate.expired"`},
		{"One that cannot encrypt", "smtp/check", "plain.example",
			`{"domain":"plain.example"}`, 200, `"smtp.starttls.missing"`},
		{"One that puts strangers off until later", "smtp/check", "testing.example",
			`{"domain":"testing.example"}`, 200, `"smtp.relay.deferred"`},
		{"A BIMI record with its version at the end", "bimi/validate", "'l=https://brand.example.com/logo.svg; v=BIMI1; a=;'",
			`{"record":"l=https://brand.example.com/logo.svg; v=BIMI1; a=;"}`, 200, `"bimi.record.version"`},
		{"The certificate that vouches for a logo", "certificats/bimi/lookup", "--domain good.example",
			`{"domain":"good.example"}`, 200, `"chain_trusted":true`},
		{"One that was not renewed", "certificats/bimi/lookup", "https://brand.good.example/past.pem",
			`{"url":"https://brand.good.example/past.pem"}`, 200, `"cert_expired"`},
		{"One that is for another domain", "certificats/bimi/parse", `"$(cat examples/demo/mark.pem)" --domain good.example`,
			markFields(), 200, `"cert_domain_mismatch"`},
		{"A logo that mailboxes can show", "bimi/logo/lookup", "https://brand.good.example/logo.svg",
			`{"url":"https://brand.good.example/logo.svg"}`, 200, `"score_band":"excellent"`},
		{"One as drawing software exports it, and what to change", "bimi/logo/lookup", "https://brand.good.example/exported.svg",
			`{"url":"https://brand.good.example/exported.svg"}`, 200, `"bimi.logo.raster"`},
		{"A domain that is ready for mail, seen as a whole", "mail/domain-check", "good.example",
			`{"domain":"good.example"}`, 200, `"ready":true`},
		{"One where nothing is right, and what to do first", "mail/domain-check", "hopeless.example",
			`{"domain":"hopeless.example"}`, 200, `"score_band":"critical"`},
		{"The address of a mail server that no blocklist has", "blacklist/ip", "192.0.2.12",
			`{"ip":"192.0.2.12"}`, 200, `"score_band":"excellent"`},
		{"One that three widely used blocklists have", "blacklist/ip", "203.0.113.77",
			`{"ip":"203.0.113.77"}`, 200, `"dnsbl.listed.several"`},
		{"One of customers, who should send through their provider", "blacklist/ip", "203.0.113.78",
			`{"ip":"203.0.113.78"}`, 200, `"dnsbl.listed.policy"`},
		{"How likely mail of a domain is to be accepted", "deliverability/score", "good.example",
			`{"domain":"good.example"}`, 200, `"partial":false`},
		{"A domain whose mail is not, and the one thing to do first", "deliverability/score", "hopeless.example",
			`{"domain":"hopeless.example"}`, 200, `"advice":{"cause":{`},
		{"The walk up the tree by which receivers find a DMARC record", "dmarcbis/check", "good.example",
			`{"domain":"good.example"}`, 200, `"ready":true`},
		{"A policy that is held back by a tag of which new receivers know nothing", "dmarcbis/check", "news.held.example",
			`{"domain":"news.held.example"}`, 200, `"dmarcbis.obsolete.pct"`},
		{"Its record for new receivers", "dmarcbis/migrate", "'v=DMARC1; p=quarantine; pct=20; rua=mailto:dmarc@held.example!10m'",
			`{"record":"v=DMARC1; p=quarantine; pct=20; rua=mailto:dmarc@held.example!10m"}`, 200, `"behavior_change":"looser"`},
		{"A DMARC record, and the way to it without losing mail", "dmarc/generate", "reject --domain good.example",
			`{"policy":"reject","domain":"good.example","aggregate_reports":["dmarc@good.example"]}`, 200, `"rollout"`},
		analyzed(at, "A message that is what it seems to be", letter{"mx1.good.example", "192.0.2.12", true},
			`"authentic":"likely"`),
		analyzed(at, "One that only pretends to be", letter{"vps.rented.example", "203.0.113.77", false},
			`"authentic":"unlikely"`),
		{"A message whose header claims a sender that the receiving server refuted", "mail/header-audit", demoHeader(),
			`{"headers":"` + forgedHeader + `"}`, 200, `"header.dmarc.fail"`},
		{"What receivers saw: a service that is set up, one that is not, a forwarder, and somebody who spoofs the domain",
			"dmarc/report/analyze", `"$(cat examples/demo/report.xml)"`, reportFields(), 200, `"service":"Mailchimp"`},
		{"A page as crawlers see it", "page/crawl-check", "https://good.example/",
			`{"url":"https://good.example/"}`, 200, `"score_band":"excellent"`},
		{"One that robots.txt keeps crawlers from, so that what it says is not known", "page/crawl-check", "https://hidden.example/",
			`{"url":"https://hidden.example/"}`, 200, `"crawl.robots.disallowed"`},
		{"One made in a hurry: structured data, images and scripts that do not work", "page/crawl-check", "https://hasty.example/",
			`{"url":"https://hasty.example/"}`, 200, `"crawl.mixed.blocked"`},
		{"Where a URL leads: to https, and no further", "url/check", "http://good.example/",
			`{"url":"http://good.example/"}`, 200, `"score_band":"excellent"`},
		{"A short one, and whither it leads", "url/check", "https://sho.example/x",
			`{"url":"https://sho.example/x"}`, 200, `"cross_domain":true`},
		{"One that leads back to http", "url/check", "https://careless.example/",
			`{"url":"https://careless.example/"}`, 200, `"url.redirect.downgrade"`},
		{"One that goes round in circles between http and https", "url/check", "https://circle.example/",
			`{"url":"https://circle.example/"}`, 200, `"code":"loop"`},
		{"One that leads into a private network", "url/check", "https://inside.example/",
			`{"url":"https://inside.example/"}`, 200, `"code":"blocked"`},
		{"One that gives a password away", "url/check", "https://secret.example/",
			`{"url":"https://secret.example/"}`, 200, `"url.location.credentials"`},
		{"One whose page leads on after five seconds", "url/check", "https://moved.example/",
			`{"url":"https://moved.example/"}`, 200, `"url.refresh.delay"`},
		{"A certificate and a TLS configuration that are in order", "certificates/ssl/check", "good.example",
			`{"host":"good.example"}`, 200, `"score_band":"excellent"`},
		{"A certificate that has expired", "certificates/ssl/check", "stale.example",
			`{"host":"stale.example"}`, 200, `"tls.certificate.expired"`},
		{"One that nobody vouches for", "certificates/ssl/check", "alone.example",
			`{"host":"alone.example"}`, 200, `"tls.chain.self_signed"`},
		{"One whose intermediate certificate is not sent", "certificates/ssl/check", "half.example",
			`{"host":"half.example"}`, 200, `"chain_issues":["incomplete"]`},
		{"A server that still speaks TLS 1.0", "certificates/ssl/check", "museum.example",
			`{"host":"museum.example"}`, 200, `"tls.version.obsolete"`},
		{"A site that nothing speaks against", "phishing/check", "https://good.example/",
			`{"url":"https://good.example/"}`, 200, `"verdict":"clean"`},
		{"One in the name of a brand, which asks for a password and sends it elsewhere", "phishing/check", "https://paypal-secure-login.example/",
			`{"url":"https://paypal-secure-login.example/"}`, 200, `"verdict":"malicious"`},
		{"A name with a digit for a letter: the URL says enough", "phishing/check", "http://www.paypa1.com/ --fetch=false",
			`{"url":"http://www.paypa1.com/","fetch":false}`, 200, `"brand":"PayPal"`},
		{"A QR code on a poster: what it holds, and who can read it", "http/qr/decode", "examples/demo/code.png",
			codeFields(), 200, `"qr.wifi.password"`},
		{"Header fields that protect visitors, and a page that needs nothing they forbid", "http/headers-check", "https://good.example/",
			`{"url":"https://good.example/"}`, 200, `"score_band":"excellent"`},
		{"A shop whose login can be overheard", "http/headers-check", "https://basket.example/",
			`{"url":"https://basket.example/"}`, 200, `"headers.cookies.session.secure"`},
		{"A policy that stops no script", "http/headers-check", "https://loose.example/",
			`{"url":"https://loose.example/"}`, 200, `"headers.csp.scripts.inline"`},
		{"A site that is ready for the preload list of the browsers", "http/hsts-check", "good.example",
			`{"domain":"good.example"}`, 200, `"grade":"preload_ready"`},
		{"One that introduces HSTS with care, and what comes next", "http/hsts-check", "beginner.example",
			`{"domain":"beginner.example"}`, 200, `"suggested_value":"max-age=604800"`},
		{"One that leads to www before browsers see its header", "http/hsts-check", "eager.example",
			`{"domain":"eager.example"}`, 200, `"redirects.http.www_first"`},
		{"One that is on the list and about to leave it", "http/hsts-check", "listed.example",
			`{"domain":"listed.example"}`, 200, `"at_risk":true`},
		{"A signing request that names its host where nobody looks", "certificates/csr/parse", `"$(cat examples/demo/request.pem)"`,
			signingFields(), 200, `"csr.names.san_missing"`},
		{"A signed zone", "resolve", "good.example A --dnssec",
			`{"qname":"good.example","qtype":"A","dnssec":true}`, 200, `"dnssec_status":"secure"`},
		{"A zone whose signatures are wrong", "resolve", "bogus.example A --dnssec",
			`{"qname":"bogus.example","qtype":"A","dnssec":true}`, 200, `"SERVFAIL"`},
		{"A name that does not exist: a finding, not an error", "resolve", "nowhere.example A",
			`{"qname":"nowhere.example","qtype":"A"}`, 200, `"NXDOMAIN"`},
		{"A zone whose servers fail", "resolve", "servfail.example A",
			`{"qname":"servfail.example","qtype":"A"}`, 200, `"SERVFAIL"`},
		{"One whose servers take three seconds", "resolve", "slow.example A",
			`{"qname":"slow.example","qtype":"A"}`, 200, `192.0.2.34`},
		{"One whose servers never answer: nothing was learned, and nothing is charged", "resolve", "silent.example A",
			`{"qname":"silent.example","qtype":"A"}`, 502, `"upstream_unavailable"`},
		{"The name of an address, and back", "ip/nslookup", "192.0.2.12", `{"ip":"192.0.2.12"}`, 200, `mx1.good.example`},
		{"A name with an umlaut", "dns/idn", "bücher.example", `{"domain":"bücher.example"}`, 200, `xn--bcher-kva.example`},
		{"The hosted SPF profiles of the key, newest last", "spf/hosted", "", `{}`, 200, `"total":2`},
		{"One of them, resolved now: who may send, without the lookups", "spf/hosted/{id}/resolve", "",
			`{"id":"` + profileID + `"}`, 200, `ip4:192.0.2.128/25`},
		{"What is published of it", "spf/hosted/{id}", "", `{"id":"` + profileID + `"}`, 200, `"status":"active"`},
		{"Its recent history", "spf/hosted/{id}/history", "--limit 5",
			`{"id":"` + profileID + `","limit":5}`, 200, `"added":["192.0.2.25/32"`},
		{"One that includes a zone whose servers fail", "spf/hosted/{id}/resolve", "",
			`{"id":"` + brokenProfileID + `"}`, 200, `"status":"failed"`},
		{"Two mistakes in a request, told at once", "resolve", "'' NONSENSE",
			`{"qname":"","qtype":"NONSENSE"}`, 400, `"fields"`},
	}
}

// forgedHeader is the header of a forged message, as JSON has it.
const forgedHeader = `Received: from vps77.example ([192.0.2.77]) by mx1.good.example with ESMTP; Sun, 01 Nov 2026 09:00:04 +0000\n` +
	`Authentication-Results: mx1.good.example; spf=fail smtp.mailfrom=boss@good.example; dmarc=fail (p=reject) header.from=good.example\n` +
	`From: The boss <boss@good.example>\nTo: office@good.example\nSubject: Urgent payment\nDate: Sun, 01 Nov 2026 09:00:00 +0000\n`

// demoHeader is the same as an argument of the command line: $'…' is how shells write line ends.
func demoHeader() string { return "$'" + forgedHeader + "'" }

// request says what a client sends: the fields are in the body, or in path and query.
func (s stop) request() (method, target, body string, err error) {
	for _, ep := range httpapi.Endpoints() {
		if ep.Name() == s.check {
			target, text, err := ep.Target([]byte(s.fields))
			return ep.Method, target, string(text), err
		}
	}
	return "", "", "", fmt.Errorf("there is no check %s", s.check)
}

const authorization = `-H "Authorization: Bearer $DIAG_KEY"`

// printTour tells a visitor what to try.
func printTour(w io.Writer, url, secret string) error {
	fmt.Fprintf(w, "The API is at %s%s, its description at %[1]s%[2]s/openapi.json\n", url, httpapi.Prefix)
	fmt.Fprintf(w, "It speaks of a small Internet in memory: nothing leaves this machine, and nothing is kept.\n\n")
	fmt.Fprintf(w, "  export DIAG_SERVER=%s\n  export DIAG_KEY=%s\n", url, secret)
	for _, s := range tour(time.Now()) {
		fmt.Fprintf(w, "\n# %s\n", s.about)
		if s.check == "" {
			fmt.Fprintf(w, "  go run ./cmd/diag %s --server %s\n", s.args, url)
			continue
		}
		method, target, body, err := s.request()
		if err != nil {
			return fmt.Errorf("%s: %w", s.about, err)
		}
		path, _, _ := strings.Cut(target, "?")
		check := strings.TrimPrefix(path, httpapi.Prefix+"/") // its name, with ids in their places
		fmt.Fprintf(w, "  go run ./cmd/diag %s --server %s\n", strings.TrimSpace(check+" "+s.args), url)
		fmt.Fprintf(w, "  curl -s -X %s '%s%s' %s", method, url, target, authorization)
		if body != "" {
			fmt.Fprintf(w, " -H 'Content-Type: application/json' -d '%s'", body)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return nil
}
