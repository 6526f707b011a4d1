package smtpcheck

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
)

// siblings are the cases of TestCheck.
var siblings = []sibling{
	{name: "well run", zone: one, setup: setup{good()}},
	{name: "both families", zone: both, setup: setup{good()}},
	{name: "null MX", zone: "example.com. MX 0 ."},
	{name: "no domain", zone: "example.net. A 192.0.2.9"},
	{name: "no mail", zone: `example.com. TXT "x"`},
	{name: "implicit MX", zone: "example.com. A 192.0.2.1\n1.2.0.192.in-addr.arpa. PTR example.com.",
		setup: setup{on("example.com")}},
	{name: "implicit MX refused", zone: "example.com. A 192.0.2.1"},
	{name: "MX lookup fails",
		setup: setup{func(w *diagtest.World) { w.Break("example.com", dns.RcodeServerFailure) }}},
	{name: "host lookup fails", zone: one,
		setup: setup{func(w *diagtest.World) { w.Break("mx1.example.com", dns.RcodeServerFailure) }}},
	{name: "one host lookup fails", zone: two,
		setup: setup{good(), func(w *diagtest.World) { w.Break("mx2.example.com", dns.RcodeServerFailure) }}},
	{name: "no such host", zone: "example.com. MX 10 gone.example.com."},
	{name: "one of two hosts does not exist", zone: one + "example.com. MX 20 gone.example.com.",
		setup: setup{good()}},
	{name: "host without address", zone: one + "example.com. MX 20 bare.example.com.\nbare.example.com. TXT \"x\"",
		setup: setup{good()}},
	{name: "null MX beside another", zone: one + "example.com. MX 0 .", setup: setup{good()}},
	{name: "MX with an address", zone: one + "example.com. MX 20 192.0.2.1.", setup: setup{good()}},
	{name: "alias",
		zone: "example.com. MX 10 mail.example.com.\nmail.example.com. CNAME mx1.example.com.\n" +
			"mx1.example.com. A 192.0.2.1\n1.2.0.192.in-addr.arpa. PTR mx1.example.com.",
		setup: setup{good()}},
	{name: "max_hosts", zone: two,
		setup:   setup{good(), on("mx2.example.com")},
		request: `{"domain": "example.com", "max_hosts": 1}`},
	{name: "many addresses", zone: one + "mx1.example.com. A 192.0.2.3\nmx1.example.com. A 192.0.2.4",
		setup: setup{good()}},
	{name: "IPv6 only", zone: strings.ReplaceAll(both, "mx1.example.com. A 192.0.2.1", ""), setup: setup{good()}},
	{name: "private address", zone: "example.com. MX 10 mx1.example.com.\nmx1.example.com. A 10.0.0.1"},
	{name: "one of two private", zone: one + "example.com. MX 20 mx2.example.com.\nmx2.example.com. A 10.0.0.1",
		setup: setup{good()}},
	{name: "private beside public", zone: one + "mx1.example.com. AAAA fd00::1", setup: setup{good()}},
	{name: "refused", zone: one},
	{name: "one of two refused", zone: two, setup: setup{good()}},
	{name: "unreachable", zone: one, setup: setup{behaves("mx1.example.com:25", diagtest.Unreachable)}},
	{name: "all of two unreachable", zone: two, setup: setup{
		behaves("mx1.example.com:25", diagtest.Unreachable), behaves("mx2.example.com:25", diagtest.Unreachable)}},
	{name: "one of two unreachable", zone: two,
		setup: setup{good(), behaves("mx2.example.com:25", diagtest.Unreachable)}},
	{name: "hangs", zone: one, setup: setup{behaves("mx1.example.com:25", diagtest.Hangs)}},
	{name: "one of two equals hangs", zone: strings.ReplaceAll(two, "MX 20", "MX 10"),
		setup: setup{good(), behaves("mx2.example.com:25", diagtest.Hangs)}},
	{name: "no IPv6 here", zone: both, setup: setup{good(), behaves("[2001:db8::1]:25", diagtest.Unreachable)}},
	{name: "IPv6 refused", zone: both, setup: setup{good(), behaves("[2001:db8::1]:25", diagtest.Refuses)}},
	{name: "IPv6 silent, of two", zone: both + "example.com. MX 20 mx2.example.com.\nmx2.example.com. AAAA 2001:db8::2",
		setup: setup{good(), on("mx2.example.com"), behaves("[2001:db8::1]:25", diagtest.Unreachable)}},
	{name: "one of two equals refused", zone: strings.ReplaceAll(two, "MX 20", "MX 10"), setup: setup{good()}},
	{name: "preferred refused, backup works", zone: two, setup: setup{on("mx2.example.com")}},
	{name: "backup hangs", zone: two, setup: setup{good(), behaves("mx2.example.com:25", diagtest.Hangs)}},
	{name: "closes", zone: one, setup: setup{behaves("mx1.example.com:25", diagtest.Closes)}},
	{name: "banner 421", zone: one, setup: setup{good(says("CONNECT", "421 4.3.2 too many connections"))}},
	{name: "one of two 421", zone: two,
		setup: setup{good(), on("mx2.example.com", says("CONNECT", "421 4.3.2 busy"))}},
	{name: "EHLO 451", zone: one, setup: setup{good(says("EHLO", "451 later"))}},
	{name: "banner 554", zone: one, setup: setup{good(says("CONNECT", "554 no SMTP service here"))}},
	{name: "blocklisted client", zone: one,
		setup: setup{good(says("CONNECT", "554 5.7.1 your IP is listed by Spamhaus"))}},
	{name: "one of two blocklists the client", zone: two,
		setup: setup{good(), on("mx2.example.com", says("CONNECT", "554 5.7.1 client host blocked"))}},
	{name: "SSH", zone: one, setup: setup{raw("mx1.example.com:25", "SSH-2.0-OpenSSH_10.0\r\n")}},
	{name: "binary garbage", zone: one, setup: setup{raw("mx1.example.com:25", "\x00\xff\xfe\x16\x03")}},
	{name: "endless banner", zone: one, setup: setup{raw("mx1.example.com:25", strings.Repeat("220-x\r\n", 9999))}},
	{name: "EHLO refused", zone: one, setup: setup{good(says("EHLO", "550 no"), says("HELO", "550 no"))}},
	{name: "HELO only", zone: one, setup: setup{good(says("EHLO", "502 what"))}},
	{name: "EHLO silent", zone: one, setup: setup{good(says("EHLO", diagtest.NoReply))}},
	{name: "banner localhost", zone: one, setup: setup{good(says("CONNECT", "220 localhost ESMTP"))}},
	{name: "bare banner", zone: one, setup: setup{good(says("CONNECT", "220"))}},
	{name: "banner name without address", zone: one,
		setup: setup{good(says("CONNECT", "220 old.example.com ESMTP"))}},
	{name: "banner of another name", zone: one + "other.example.com. A 192.0.2.1",
		setup: setup{good(says("CONNECT", "220 other.example.com ESMTP"))}},
	{name: "EHLO name localhost", zone: one,
		setup: setup{good(says("EHLO", "250-localhost\n250-SIZE 52428800\n250 STARTTLS"))}},
	{name: "EHLO without name", zone: one, setup: setup{good(says("EHLO", "250-\n250 STARTTLS"))}},
	{name: "small", zone: one,
		setup: setup{good(func(s *diagtest.SMTP) { s.Extensions = []string{"SIZE 1048576"} })}},
	{name: "no STARTTLS", zone: one, setup: setup{good(func(s *diagtest.SMTP) { s.NoStartTLS = true })}},
	{name: "STARTTLS 454", zone: one, setup: setup{good(says("STARTTLS", "454 4.7.0 TLS not available"))}},
	{name: "STARTTLS closes", zone: one, setup: setup{good(says("STARTTLS", diagtest.HangUp))}},
	{name: "TLS does not come", zone: one,
		setup: setup{tlsWith(func(_ *diagtest.World, c *tls.Config) { c.Certificates = nil })}},
	{name: "injected", zone: one, setup: setup{good(says("STARTTLS", "220 go\n250 forged"))}},
	{name: "client certificate", zone: one, setup: setup{tlsWith(func(_ *diagtest.World, c *tls.Config) {
		c.ClientAuth = tls.RequireAnyClientCert
	})}},
	{name: "TLS 1.0", zone: one, setup: setup{tlsWith(func(_ *diagtest.World, c *tls.Config) {
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	})}},
	{name: "3DES", zone: one, setup: setup{tlsWith(func(w *diagtest.World, c *tls.Config) {
		c.Certificates = []tls.Certificate{w.Certificate(diagtest.CertSpec{Names: []string{"mx1.example.com"}, Key: rsaKey(2048)})}
		c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA}
	})}},
	{name: "expired", zone: one, setup: setup{good(certificate(diagtest.CertExpired))}},
	{name: "not yet valid", zone: one, setup: setup{good(certificate(diagtest.CertNotYetValid))}},
	{name: "wrong name", zone: one, setup: setup{good(certificate(diagtest.CertWrongName))}},
	{name: "self-signed", zone: one, setup: setup{good(certificate(diagtest.CertSelfSigned))}},
	{name: "unknown authority", zone: one, setup: setup{good(certificate(diagtest.CertUnknownAuthority))}},
	{name: "incomplete", zone: one, setup: setup{good(certificate(diagtest.CertMissingIntermediate))}},
	{name: "expires soon", zone: one, setup: setup{leaf(func(w *diagtest.World) diagtest.CertSpec {
		return diagtest.CertSpec{NotAfter: w.Now().Add(100 * time.Hour)}
	})}},
	{name: "expires in ten days", zone: one, setup: setup{leaf(func(w *diagtest.World) diagtest.CertSpec {
		return diagtest.CertSpec{NotAfter: w.Now().Add(10 * 24 * time.Hour)}
	})}},
	{name: "short-lived", zone: one, setup: setup{leaf(func(w *diagtest.World) diagtest.CertSpec {
		return diagtest.CertSpec{NotBefore: w.Now().Add(-48 * time.Hour), NotAfter: w.Now().Add(96 * time.Hour)}
	})}},
	{name: "weak key", zone: one, setup: setup{leaf(func(*diagtest.World) diagtest.CertSpec {
		return diagtest.CertSpec{Key: rsaKey(1024)}
	})}},
	{name: "not for servers", zone: one, setup: setup{leaf(func(*diagtest.World) diagtest.CertSpec {
		return diagtest.CertSpec{Change: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }}
	})}},
	{name: "AUTH before TLS", zone: one,
		setup: setup{good(func(s *diagtest.SMTP) { s.Extensions = []string{"AUTH PLAIN LOGIN"} })}},
	{name: "AUTH CRAM-MD5 before TLS", zone: one,
		setup: setup{good(func(s *diagtest.SMTP) { s.Extensions = []string{"AUTH CRAM-MD5"} })}},
	{name: "AUTH after TLS", zone: one,
		setup: setup{good(func(s *diagtest.SMTP) { s.Encrypted = []string{"AUTH PLAIN"} })}},
	{name: "open relay", zone: one, setup: setup{good(says("RCPT", "250 2.1.5 ok"))}},
	{name: "open relay without TLS", zone: one,
		setup: setup{good(says("RCPT", "250 ok"), func(s *diagtest.SMTP) { s.NoStartTLS = true })}},
	{name: "percent hack", zone: one, setup: setup{good(says("RCPT TO:<smtp-check%", "250 ok"))}},
	{name: "catch-all", zone: one,
		setup: setup{good(says("RCPT TO:<smtp-check%", "250 ok"), says("RCPT TO:<smtp-check-control@", "250 ok"))}},
	{name: "greylisting", zone: one, setup: setup{good(says("RCPT", "451 4.7.1 greylisted, try again"))}},
	{name: "greylisting that repeats the address", zone: one, setup: setup{good(says("RCPT",
		"450 4.3.2 <Relay-Test@example.net>: Recipient address rejected: Try again later"))}},
	{name: "greylisting that names the recipient", zone: one,
		setup: setup{good(says("RCPT", "450 4.2.0 <a@relay.example.net>: Recipient address rejected: Greylisted"))}},
	{name: "relay denied at length", zone: one,
		setup: setup{good(says("RCPT", "550-Please turn on SMTP Authentication in your mail client.\n550-"+strings.Repeat("x", 200)+"\n550 is not permitted to relay through this server"))}},
	{name: "recipient unknown", zone: one, setup: setup{good(says("RCPT", "550 5.1.1 user unknown"))}},
	{name: "recipient deferred and closed", zone: one, setup: setup{good(says("RCPT", "421 4.7.0 too many errors"))}},
	{name: "sender deferred", zone: one, setup: setup{good(says("MAIL", "450 4.7.1 try again"))}},
	{name: "client refused at EHLO", zone: one,
		setup: setup{good(says("EHLO", "550 5.7.1 blocked by a blocklist"), says("HELO", "550 5.7.1 blocked by a blocklist"))}},
	{name: "IPv6 host, no IPv6 here",
		setup:   setup{behaves("[2001:db8::1]:25", diagtest.Unreachable)},
		request: `{"host": "2001:db8::1"}`},
	{name: "STARTTLS in lower case", zone: one,
		setup: setup{good(says("EHLO", "250-mx1.example.com\n250-size 0\n250 starttls"))}},
	{name: "AUTH without STARTTLS", zone: one,
		setup: setup{good(func(s *diagtest.SMTP) { s.NoStartTLS, s.Extensions = true, []string{"AUTH=LOGIN", "AUTH LOGIN PLAIN"} })}},
	{name: "TLS stalls", zone: one,
		setup: setup{raw("mx1.example.com:25", "220 mx1.example.com\r\n250-mx1.example.com\r\n250 STARTTLS\r\n220 go\r\n")}},
	{name: "relay denied with 454", zone: one, setup: setup{good(says("RCPT", "454 4.7.1 Relay access denied"))}},
	{name: "sender refused, null sender accepted", zone: one,
		setup: setup{good(says("MAIL", "550 5.1.8 sender domain"), says("MAIL FROM:<>", "250 ok"))}},
	{name: "every sender refused", zone: one, setup: setup{good(says("MAIL", "550 5.1.8 sender"))}},
	{name: "sender refused late", zone: one, setup: setup{good(says("RCPT", "550 5.1.8 sender address rejected"))}},
	{name: "client refused late", zone: one, setup: setup{good(says("RCPT", "554 5.7.1 client host blocked"))}},
	{name: "sender without SPF pass", zone: one, setup: setup{good(
		says("RCPT", "550 5.7.23 <smtp-check@example.net>: Recipient address rejected: SPF fail - not authorized"))}},
	{name: "sender not authenticated", zone: one, setup: setup{good(
		says("RCPT", "550-5.7.26 This mail has been blocked because the sender is unauthenticated.\n550 5.7.26 You must "+
			"authenticate with SPF or DKIM"))}},
	{name: "sender deferred, null sender accepted", zone: one,
		setup: setup{good(says("MAIL", "450 4.1.8 Sender address rejected"), says("MAIL FROM:<>", "250 ok"))}},
	{name: "recipient domain has a null MX", zone: one, setup: setup{good(
		says("RCPT", "556 5.1.10 <smtp-check@example.net>: Recipient address rejected: Domain example.net does not accept "+
			"mail (nullMX)"))}},
	{name: "recipient domain is unroutable", zone: one, setup: setup{good(says("RCPT", "550 Unrouteable address"))}},
	{name: "recipient of Microsoft 365", zone: one,
		setup: setup{good(says("RCPT", "550 5.4.1 Recipient address rejected: Access denied. AS(201806281)"))}},
	{name: "recipient of qmail", zone: one, setup: setup{good(
		says("RCPT", "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)"))}},
	{name: "client banned", zone: one,
		setup: setup{good(says("RCPT", "550 5.7.606 Access denied, banned sending IP [203.0.113.1]"))}},
	{name: "client without anonymous mail", zone: one, setup: setup{good(says("MAIL",
		"530 5.7.57 SMTP; Client was not authenticated to send anonymous mail during MAIL FROM"))}},
	{name: "name in EHLO refused", zone: one, setup: setup{good(
		says("EHLO", "504 5.5.2 <client.example.net>: Helo command rejected: need fully-qualified hostname"),
		says("HELO", "504 5.5.2 <client.example.net>: Helo command rejected: need fully-qualified hostname"))}},
	{name: "name in EHLO refused by Exim", zone: one, setup: setup{good(
		says("EHLO", "501 Syntactically invalid EHLO argument(s)"), says("HELO", "501 Syntactically invalid HELO argument(s)"))}},
	{name: "name in EHLO refused late", zone: one, setup: setup{good(
		says("RCPT", "550 5.7.1 <client.example.net>: Helo command rejected: Host not found"))}},
	{name: "relay test without an answer", zone: one, setup: setup{good(says("MAIL", diagtest.NoReply))}},
	{name: "AUTH wanted", zone: one, setup: setup{good(says("MAIL", "530 5.7.0 Authentication required"))}},
	{name: "hangs up at MAIL", zone: one, setup: setup{good(says("MAIL", diagtest.HangUp))}},
	{name: "hangs up at RCPT", zone: one, setup: setup{good(says("RCPT", diagtest.HangUp))}},
	{name: "relay test not asked for", zone: one,
		setup:   setup{good(says("RCPT", "250 ok"))},
		request: `{"domain": "example.com", "check_relay": false}`},
	{name: "no PTR", zone: "example.com. MX 10 mx1.example.com.\nmx1.example.com. A 192.0.2.1", setup: setup{good()}},
	{name: "PTR unconfirmed",
		zone: "example.com. MX 10 mx1.example.com.\nmx1.example.com. A 192.0.2.1\n" +
			"1.2.0.192.in-addr.arpa. PTR a.example.net.\na.example.net. A 192.0.2.9",
		setup: setup{good()}},
	{name: "PTR lookup fails", zone: one,
		setup: setup{good(), func(w *diagtest.World) { w.Break("1.2.0.192.in-addr.arpa", dns.RcodeServerFailure) }}},
	{name: "PTR silent", zone: one,
		setup: setup{good(), func(w *diagtest.World) { w.Silence("1.2.0.192.in-addr.arpa") }}},
	{name: "PTR name fails", zone: strings.ReplaceAll(one, "PTR mx1.example.com", "PTR broken.example.net"),
		setup: setup{good(), func(w *diagtest.World) { w.Break("broken.example.net", dns.RcodeServerFailure) }}},
	{name: "host by name", zone: one, setup: setup{good()}, request: `{"host": "mx1.example.com"}`},
	{name: "host by address", zone: one, setup: setup{good()}, request: `{"host": "192.0.2.1"}`},
	{name: "host by IPv6 address", zone: both, setup: setup{good()}, request: `{"host": "2001:db8::1"}`},
	{name: "host that does not exist", request: `{"host": "gone.example.com"}`},
	{name: "host that half does not exist", zone: "example.com. A 192.0.2.9",
		setup: setup{func(w *diagtest.World) {
			w.Fault("gone.example.com", dns.TypeAAAA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		}}, request: `{"host": "gone.example.com"}`},
	{name: "host without any address", zone: "mx1.example.com. TXT x", request: `{"host": "mx1.example.com"}`},
	{name: "host loopback", request: `{"host": "127.0.0.1"}`},
	{name: "all ports", zone: one, setup: setup{good(),
		good(func(s *diagtest.SMTP) { s.Port, s.Encrypted = 587, []string{"AUTH PLAIN"} }),
		good(func(s *diagtest.SMTP) { s.Implicit, s.Extensions = true, []string{"AUTH PLAIN"} })},
		request: `{"domain": "example.com", "ports": [587, 465, 25]}`},
	{name: "no submission", zone: one,
		setup:   setup{good()},
		request: `{"domain": "example.com", "ports": [25, 465, 587]}`},
	{name: "submission without AUTH", zone: one,
		setup:   setup{good(func(s *diagtest.SMTP) { s.Port = 587 })},
		request: `{"host": "mx1.example.com", "ports": [587]}`},
	{name: "no TLS on 465", zone: one,
		setup:   setup{good(func(s *diagtest.SMTP) { s.Port = 465 })},
		request: `{"host": "mx1.example.com", "ports": [465]}`},
	{name: "tarpit", zone: one, setup: setup{good(func(s *diagtest.SMTP) {
		s.Delays = map[string]time.Duration{"": 8 * time.Second, "CONNECT": 8 * time.Second}
	})}},
	{name: "endless drip", zone: one,
		setup: setup{good(), func(w *diagtest.World) { w.Drip("mx1.example.com:25", time.Second) }}},
}
