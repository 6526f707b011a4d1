package header

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/message"
	msgauth "github.com/emersion/go-msgauth/dkim"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// signingKey is the same every time.
var signingKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// keyText is its record.
var keyText = "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(signingKey.Public().(ed25519.PublicKey))

// mailZone is the zone of the tests: the author's domain, its server, a forwarder and an unrelated server.
var mailZone = `
example.org.                TXT "v=spf1 ip4:192.0.2.25 -all"
_dmarc.example.org.         TXT "v=DMARC1; p=reject"
s1._domainkey.example.org.  TXT "` + keyText + `"
mail.example.org.           A   192.0.2.25
mail.example.org.           TXT "v=spf1 a -all"
25.2.0.192.in-addr.arpa.    PTR mail.example.org.
fwd.example.net.            A   198.51.100.61
61.100.51.198.in-addr.arpa. PTR fwd.example.net.
forward.example.net.        TXT "v=spf1 ip4:198.51.100.61 -all"
s1._domainkey.example.net.  TXT "` + keyText + `"
vps.hosting.test.           A   203.0.113.77
77.113.0.203.in-addr.arpa.  PTR vps.hosting.test.
mx.example.com.             A   198.51.100.10
`

// letter is the message of the tests without what servers add.
const letter = "From: Alice Example <alice@example.org>\nTo: bob@example.com\nSubject: Offer\n" +
	"Date: Sun, 01 Nov 2026 09:00:00 +0000\nMessage-ID: <1@mail.example.org>\nMIME-Version: 1.0\n" +
	"Content-Type: text/plain\n\nHello Bob,\n\nhere is the offer.\n"

// The delivery paths of a letter.
const (
	direct = "Return-Path: <alice@example.org>\nReceived: from mail.example.org (mail.example.org [192.0.2.25])\n" +
		"\tby mx.example.com (Postfix) with ESMTPS id 1; Sun, 01 Nov 2026 09:00:04 +0000\n"
	spoofed = "Return-Path: <alice@example.org>\nReceived: from vps.hosting.test (vps.hosting.test [203.0.113.77])\n" +
		"\tby mx.example.com (Postfix) with ESMTPS id 1; Sun, 01 Nov 2026 09:00:04 +0000\n"
	forwarded = "Return-Path: <alice@example.org>\nReceived: from fwd.example.net (fwd.example.net [198.51.100.61])\n" +
		"\tby mx.example.com (Postfix) with ESMTPS id 2; Sun, 01 Nov 2026 09:00:09 +0000\n" +
		"Received: from mail.example.org (mail.example.org [192.0.2.25])\n" +
		"\tby fwd.example.net (Postfix) with ESMTPS id 1; Sun, 01 Nov 2026 09:00:04 +0000\n"
)

// replayed is the header of a message that a third party sends again.
const replayed = "Return-Path: <x@vps.hosting.test>\nReceived: from vps.hosting.test (vps.hosting.test [203.0.113.77])\n" +
	"\tby mx.example.com (Postfix) with ESMTPS id 1; Sun, 01 Nov 2026 09:00:04 +0000\n"

// allFields are the fields of the letter, as h= lists them.
const allFields = "from:to:subject:date:message-id:mime-version:content-type"

// receivedAt is the arrival time of the letters; the tests run three hours later.
var receivedAt = time.Date(2026, 11, 1, 9, 0, 4, 0, time.UTC)

// signed puts a signature of a domain before a letter.
func signed(t testing.TB, text, domain string, change func(*msgauth.SignOptions)) string {
	t.Helper()
	o := msgauth.SignOptions{
		Domain: domain, Selector: "s1", Signer: signingKey,
		HeaderCanonicalization: msgauth.CanonicalizationRelaxed, BodyCanonicalization: msgauth.CanonicalizationRelaxed,
		HeaderKeys: []string{"From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"},
	}
	if change != nil {
		change(&o)
	}
	var b bytes.Buffer
	require.NoError(t, msgauth.Sign(&b, strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")), &o))
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

func mailWorld(t testing.TB) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Zone(mailZone)
	w.SetTime(receivedAt.Add(3 * time.Hour))
	return w
}

func analyze(t testing.TB, w *diagtest.World, req AnalyzeRequest) *AnalyzeReport {
	t.Helper()
	r, err := Analyze(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

// liveCodes returns the codes of the live findings.
func liveCodes(v diag.Verdict) (codes []string) {
	for _, c := range diagtest.Codes(v) {
		if short, ok := strings.CutPrefix(string(c), "header.live."); ok {
			codes = append(codes, short)
		}
	}
	return codes
}

// bodyOf returns the body of a message, and fromOf its From field.
func bodyOf(text string) []byte {
	return message.Split([]byte(strings.ReplaceAll(text, "\n", "\r\n"))).Body
}
func fromOf(text string) []byte { return message.Split([]byte(text)).First("From").Raw }

// headOf returns the header of a message.
func headOf(text string) string { head, _, _ := strings.Cut(text, "\n\n"); return head + "\n" }

// zen is the test record of a working blocklist.
const zen = "2.0.0.127.zen.spamhaus.org. A 127.0.0.2\n"

func TestAnalyzeAsksBlocklists(t *testing.T) {
	for _, tt := range []struct{ zone, want string }{
		{zen + "25.2.0.192.zen.spamhaus.org. A 127.0.0.4\n", "spamhaus-zen "},
		{zen, ""},
		{"*.zen.spamhaus.org. A 127.255.255.254\n2.0.0.127.psbl.surriel.com. A 127.0.0.2\n", ""},
		{"", "not known"},
	} {
		w := mailWorld(t)
		w.Zone(tt.zone)
		r := analyze(t, w, AnalyzeRequest{Message: direct + letter})
		got := ""
		for _, one := range r.Live.Blacklists {
			got += one.ID + " "
		}
		if r.Live.Blacklists == nil {
			got = "not known"
		}
		require.Equal(t, tt.want, got)
		require.False(t, r.Live.Partial)
	}
}

// An analyzeCase is a message in a world, with the expected report.
type analyzeCase struct {
	name      string
	text      string
	zone      string // empty: mailZone
	fail      string // name whose queries fail
	dmarc     string
	authentic Authenticity
	codes     []string
	says      string // in a reason
}

// world returns the world of the case.
func (tt *analyzeCase) world(t testing.TB) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Zone(cmp.Or(tt.zone, mailZone))
	w.SetTime(receivedAt.Add(3 * time.Hour))
	if tt.fail != "" {
		w.Fault(tt.fail, 0, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	}
	return w
}

func (tt *analyzeCase) request() AnalyzeRequest {
	if !strings.Contains(tt.text, "\n\n") {
		return AnalyzeRequest{Headers: tt.text}
	}
	return AnalyzeRequest{Message: tt.text, TrustedAuthservIDs: []string{"mx.example.com"}}
}

func analyzeCases(t testing.TB) []analyzeCase {
	good := signed(t, letter, "example.org", nil)
	listed := strings.Replace(good, "here is the offer.\n", "here is the offer.\n-- \nA list\n", 1)
	expiring := signed(t, letter, "example.org", func(o *msgauth.SignOptions) { o.Expiration = receivedAt.Add(time.Hour) })
	expired := signed(t, letter, "example.org", func(o *msgauth.SignOptions) { o.Expiration = receivedAt.Add(-time.Hour) })
	other := signed(t, letter, "example.net", nil)
	without := func(text, name string) string { return strings.Replace(mailZone, text, name, 1) }
	const results = "Authentication-Results: mx.example.com; spf=pass smtp.mailfrom=alice@example.org;\n" +
		" dkim=pass header.d=example.org header.s=s1; dmarc=pass header.from=example.org\n"
	return []analyzeCase{
		{"genuine", direct + good, "", "", "pass", Likely, nil, "The message was signed by example.org; its body and the signed fields have not been changed since."},
		{"genuine header", headOf(direct + good), "", "", "pass", Likely, nil, "The header is as example.org signed it"},
		{"genuine, and noted so", results + direct + good, "", "", "pass", Likely, nil, "have not been changed since"},
		{"genuine, and monitored", direct + good, without("p=reject", "p=none"), "", "pass", Likely, nil, "DMARC passes"},
		{"spoof", spoofed + letter, "", "", "fail", Unlikely, []string{"dmarc.fail", "spf.fail"}, "not authorized"},
		{"spoof of a monitored domain", spoofed + letter, without("p=reject", "p=none"), "", "fail", Unlikely,
			[]string{"dmarc.fail.monitored", "spf.fail"}, "DMARC fails"},
		{"forwarded", forwarded + good, "", "", "pass", Likely, []string{"forwarded"},
			"It was forwarded by fwd.example.net: SPF fails for that reason, and DKIM still passes."},
		{"forwarded with SRS", strings.Replace(forwarded, "<alice@example.org>", "<SRS0=a=b=example.org=alice@forward.example.net>", 1) + good,
			"", "", "pass", Likely, []string{"forwarded"}, "SPF concerns the forwarder"},
		{"forwarded header", headOf(forwarded + good), "", "", "", NotDecided, []string{"spf.fail", "undecided"}, "only be checked with the whole message"},
		{"forwarded and unsigned", forwarded + letter, "", "", "fail", Unlikely, []string{"dmarc.fail", "spf.fail"},
			"According to its own header, it was forwarded"},
		{"changed by a list", forwarded + listed, "", "", "fail", NotDecided, []string{"dmarc.fail.unclear", "spf.fail", "dkim.body"},
			"changed on the way"},
		{"changed on the direct way", direct + listed, "", "", "pass", Likely, []string{"dkim.body"}, "do not rely on"},
		{"changed header", direct + strings.Replace(good, "Subject: Offer", "Subject: Other", 1), "", "", "pass", Likely,
			[]string{"dkim.signature"}, "does not verify"},
		{"bounce", strings.Replace(direct, "<alice@example.org>", "<>", 1) + letter, "", "", "pass", Likely, nil, "mail.example.org"},
		{"signed by another", direct + other, "", "", "pass", Likely, nil, "not aligned with"},
		{"expired since", direct + expiring, "", "", "pass", Likely, nil, "Its signature expired on 1 November 2026"},
		{"expired before", direct + expired, "", "", "pass", Likely, []string{"dkim.expired"}, ""},
		{"key withdrawn", direct + good, without("s1._domainkey.example.org.", "s9._domainkey.example.org."), "", "pass", Likely,
			[]string{"dkim.key"}, "does not verify"},
		{"key withdrawn, noted by the receiver", results + forwarded + good, without("s1._domainkey.example.org.", "s9._domainkey.example.org."),
			"", "fail", Likely, []string{"dmarc.fail.since", "spf.fail", "dkim.key"}, "have probably changed since"},
		{"spoof with a note of its own", spoofed + results + letter, "", "", "fail", NotDecided,
			[]string{"dmarc.fail.unclear", "spf.fail"}, "could have added it"},
		{"sub-domain under strict alignment", direct + strings.Replace(letter, "alice@example.org", "alice@news.example.org", 1),
			without("p=reject", "p=reject; aspf=s") + "news.example.org. A 192.0.2.9\n", "", "fail", NotDecided,
			[]string{"dmarc.fail.unclear"}, "belongs to the same organization"},
		{"no policy", direct + good, without("_dmarc.example.org.", "x.example.org."), "", "none", Likely, []string{"dmarc.missing"},
			"publishes no DMARC policy"},
		{"no policy, spoof", spoofed + letter, without("_dmarc.example.org.", "x.example.org."), "", "none", Unlikely,
			[]string{"dmarc.missing", "spf.fail"}, "not authorized"},
		{"SPF does not answer", forwarded + letter, "", "example.org.", "temperror", NotDecided, []string{"dns"}, "DNS lookups failed"},
		{"key does not answer", forwarded + good, "", "s1._domainkey.example.org.", "temperror", NotDecided, []string{"dns"},
			"DNS lookups failed"},
		{"policy does not answer", direct + good, "", "_dmarc.example.org.", "temperror", NotDecided, []string{"dns"}, "DNS lookups failed"},
		{"PTR does not answer", direct + good, "", "25.2.0.192.in-addr.arpa.", "pass", Likely, []string{"ptr.unknown"}, ""},
		{"no PTR", direct + good, without("25.2.0.192.in-addr.arpa.", "26.2.0.192.in-addr.arpa."), "", "pass", Likely,
			[]string{"ptr.missing"}, ""},
		{"PTR of others", direct + good, without("25.2.0.192.in-addr.arpa.    PTR mail", "25.2.0.192.in-addr.arpa. PTR www"), "", "pass", Likely,
			[]string{"ptr.unconfirmed"}, ""},
		{"blocklisted", direct + good, mailZone + zen + "25.2.0.192.zen.spamhaus.org. A 127.0.0.4\n", "", "pass", Likely,
			[]string{"blocklisted"}, ""},
		{"not blocklisted", direct + good, mailZone + zen, "", "pass", Likely, nil, ""},
		{"blocklists refuse", direct + good, mailZone + "*.zen.spamhaus.org. A 127.255.255.254\n", "", "pass", Likely, nil, ""},
		{"broken SPF", direct + good, without("v=spf1 ip4:192.0.2.25", "v=spf1 ipv4:192.0.2.25"), "", "pass", Likely,
			[]string{"spf.permerror"}, "cannot be evaluated"},
		{"no SPF", direct + good, without("example.org.                TXT", "x.example.org. TXT"), "", "pass", Likely,
			nil, "does not say"},
		{"HELO refused", direct + good, without("v=spf1 a -all", "v=spf1 -all"), "", "pass", Likely, []string{"spf.helo"}, ""},
		{"envelope of a service", strings.Replace(spoofed, "alice@example.org", "b@bounce.hosting.test", 1) + good,
			mailZone + "bounce.hosting.test. TXT \"v=spf1 ip4:203.0.113.77 -all\"\n", "", "pass", Likely, nil, "envelope sender"},
		{"no Received", good, "", "", "pass", Likely, []string{"hop"}, ""},
		{"no Received, header alone", headOf(letter), "", "", "", NotDecided, []string{"undecided", "hop"}, "is unknown"},
		{"no Return-Path", strings.Replace(direct, "Return-Path: <alice@example.org>\n", "", 1) + letter, "", "", "", NotDecided,
			[]string{"undecided"}, "no Return-Path"},
		{"two authors", direct + strings.Replace(letter, "From: ", "From: carol@example.net, ", 1), "", "", "permerror", NotDecided,
			nil, "several domains"},
		{"no author", direct + strings.Replace(letter, "From: ", "X-From: ", 1), "", "", "-", NotDecided, nil, "No From field"},
		{"display name", direct + strings.Replace(letter, "Alice Example", "\"support@bank.example\"", 1), "", "", "pass", Likely,
			nil, "shows an address of bank.example"},
		{"through a filter", strings.ReplaceAll(spoofed, "vps.hosting.test", "mx1.pphosted.com") + letter,
			strings.ReplaceAll(mailZone, "vps.hosting.test", "mx1.pphosted.com"), "", "fail", NotDecided,
			[]string{"dmarc.fail.unclear", "spf.fail", "gateway"}, "mail filter"},
		{"part of the body", direct + signedInPart(t, letter, allFields, 10), "", "", "pass", Likely, []string{"dkim.appended"}, "except for the last"},
		{"list that seals", sealed(t, forwarded+"List-Id: <a.example.net>\n"+letter), "", "", "fail", NotDecided,
			[]string{"dmarc.fail.unclear", "spf.fail"}, "fwd.example.net"},
		{"open SPF", spoofed + letter, without("v=spf1 ip4:192.0.2.25 -all", "v=spf1 +all"), "", "pass", NotDecided,
			[]string{"spf.all"}, "authorizes every server"},
		{"open SPF without a policy", spoofed + letter, strings.Replace(without("v=spf1 ip4:192.0.2.25 -all", "v=spf1 +all"),
			"_dmarc.example.org.", "x.example.org.", 1), "", "none", NotDecided, []string{"dmarc.missing", "spf.all"}, ""},
		{"domain that does not exist", strings.ReplaceAll(spoofed+letter, "alice@example.org", "alice@nowhere.test"), "", "", "none",
			Unlikely, []string{"author.nxdomain"}, "does not exist"},
		{"two policies", direct + good, mailZone + "_dmarc.example.org. TXT \"v=DMARC1; p=none\"\n", "", "none", Likely,
			[]string{"dmarc.missing"}, "publishes no DMARC policy"},
		{"second From above the signed one", direct + "From: Mallory <alice@example.org>\n" + good, "", "", "pass", NotDecided,
			[]string{"dkim.caution"}, "There are 2 From fields"},
		{"two From fields without a policy", direct + "From: Mallory <alice@example.org>\n" + good, without("_dmarc.example.org.", "x.example.org."), "",
			"none", NotDecided, []string{"dmarc.missing", "dkim.caution"}, "There are 2 From fields"},
		{"second From of another domain", direct + strings.Replace(good, "To: bob", "From: b@example.net\nTo: bob", 1), "", "", "permerror", NotDecided,
			[]string{"dkim.signature", "dkim.caution"}, "several domains"},
		{"subject that is not signed", direct + signed(t, letter, "example.org", func(o *msgauth.SignOptions) { o.HeaderKeys = []string{"From", "To"} }),
			"", "", "pass", Likely, nil, "The signature does not cover Subject, Date, Content-Type, MIME-Version, which anyone may have changed"},
		{"a list that tags the subject and adds a footer", forwarded + strings.Replace(listed, "Subject: ", "Subject: [list] ", 1),
			without("p=reject", "p=none"), "", "fail", NotDecided, []string{"dmarc.fail.monitored", "spf.fail", "dkim.body", "dkim.signature"},
			"once the changes that mailing lists make are undone"},
		{"a brand in the display name", direct + strings.Replace(letter, "Alice Example", "PayPal Service", 1), "", "", "pass", Likely,
			nil, `uses the name "paypal"`},
		{"a domain that looks like the recipient's", strings.ReplaceAll(direct+letter, "bob@example.com", "bob@exarnple.org"), "", "", "pass", Likely,
			nil, `looks like "exarnple"`},
		{"l=0, sent again with another body", replayed + signedInPart(t, letter, allFields, 0), "", "", "pass", NotDecided,
			[]string{"dkim.body_unsigned"}, "does not cover the body"},
		{"l=0 on the direct way", direct + signedInPart(t, letter, allFields, 0), "", "", "pass", Likely,
			[]string{"dkim.body_unsigned"}, "nothing of its body was (l=0)"},
		{"l=, sent again with more", replayed + signedInPart(t, letter, allFields, 10), "", "", "pass", NotDecided,
			[]string{"dkim.appended"}, "does not cover the end of the body"},
		{"l= of the whole body, sent again", replayed + signedInPart(t, letter, allFields, len(bodyOf(letter))), "", "", "pass", Likely,
			nil, "DMARC passes: the message was sent on behalf of"},
		{"l=, and a signature of all", replayed + signedInPart(t, signedInPart(t, letter, allFields, -1), allFields, 10), "", "", "pass", Likely,
			nil, "have not been changed since"},
		{"l= and no policy", replayed + signedInPart(t, letter, allFields, 10), without("_dmarc.example.org.", "x.example.org."), "", "none",
			NotDecided, []string{"dmarc.missing", "dkim.appended"}, "except for the last"},
		{"subject not signed, sent again", replayed + signedInPart(t, letter, "from:to:date:mime-version:content-type", -1), "", "", "pass",
			NotDecided, nil, "does not cover Subject"},
		{"subject added, sent again", replayed + "Subject: You have won\n" + good, "", "", "pass", NotDecided, nil, "does not cover Subject"},
		{"everything signed against additions", replayed + signedInPart(t, letter, allFields+":from:to:subject:date:reply-to", -1), "", "",
			"pass", Likely, nil, "have not been changed since"},
		{"Reply-To added, sent again", replayed + "Reply-To: x@vps.hosting.test\n" + good, "", "", "pass", Likely,
			[]string{"dkim.reply_to"}, "does not cover Reply-To"},
		{"Reply-To of the domain added", replayed + "Reply-To: office@example.org\n" + good, "", "", "pass", Likely, nil, ""},
		{"Reply-To of another domain on the direct way", direct + "Reply-To: office@example.net\n" + good, "", "", "pass", Likely, nil, ""},
		{"Reply-To of a mailing list", forwarded + "List-Id: <a.example.net>\nReply-To: a@example.net\n" + good, "", "", "pass", Likely,
			[]string{"forwarded"}, ""},
		{"key for the domain alone", direct + signed(t, letter, "example.org", func(o *msgauth.SignOptions) { o.Identifier = "@news.example.org" }),
			without("v=DKIM1; k=ed25519;", "v=DKIM1; k=ed25519; t=s;"), "", "pass", Likely, []string{"dkim.strict"}, ""},
		{"key for the domain alone, used for it", direct + good, without("v=DKIM1; k=ed25519;", "v=DKIM1; k=ed25519; t=s;"), "", "pass", Likely,
			nil, ""},
		{"signature without a version", direct + signatureField(strings.Replace("DKIM-Signature: a=ed25519-sha256; c=relaxed/relaxed; "+
			"d=example.org; s=s1; h=from; bh=BH; b=", "BH", bodyHash(bodyOf(letter), -1), 1), [][]byte{[]byte(fromOf(letter))}) + letter,
			"", "", "pass", Likely, []string{"dkim.policy"}, ""},
		{"From not signed", direct + signedInPart(t, letter, "to:subject:date", -1), "", "", "pass", Likely, nil, "does not verify"},
		{"testing", direct + good, without("v=DKIM1; k=ed25519;", "v=DKIM1; k=ed25519; t=y;"), "", "pass", Likely,
			nil, ""},
		{"key withdrawn long ago", strings.ReplaceAll(forwarded, " 2026", " 2025") + good,
			without("s1._domainkey.example.org.", "s9._domainkey.example.org."), "", "fail", NotDecided,
			[]string{"dmarc.fail.since", "spf.fail", "dkim.key"}, "was received on 1 November 2025"},
	}
}

func TestAnalyze(t *testing.T) {
	seen := diagtest.Seen{}
	for _, tt := range analyzeCases(t) {
		t.Run(tt.name, func(t *testing.T) {
			r := analyze(t, tt.world(t), tt.request())
			seen.Add(r.Verdict)
			dmarc := "-"
			if r.Live.DMARC.AlignedBy != nil {
				dmarc = string(r.Live.DMARC.Result)
			}
			reasons := strings.Join(r.Conclusion.Reasons, "\n")
			require.Equal(t, tt.dmarc, dmarc, reasons)
			require.Equal(t, tt.authentic, r.Conclusion.Authentic, reasons)
			require.Equal(t, tt.codes, liveCodes(r.Verdict))
			require.Contains(t, reasons, tt.says)
			require.True(t, r.Live.Performed)
			for _, s := range r.Conclusion.Reasons {
				require.Regexp(t, `^[A-Z0-9a-z].*\.$`, s)
			}
		})
	}
	t.Run("rules", func(t *testing.T) { coverLive(t, seen) })
}

// No unanswered query makes a verdict surer, better or graver (CONTRACT 1.7, Knowledge).
func TestAnalyzeWithLessKnowledge(t *testing.T) {
	for i, tt := range analyzeCases(t) {
		if testing.Short() && i%6 != 0 || !diagtest.Sampled(tt.name, 2) {
			continue // all take seconds
		}
		w := tt.world(t)
		known := analyze(t, w, tt.request())
		asked := map[string]bool{}
		for _, q := range w.Queries() {
			asked[q.Name] = true
		}
		for name := range asked {
			w := tt.world(t)
			w.Fault(name, 0, diagtest.Fault{Rcode: dns.RcodeServerFailure})
			checkLess(t, tt.name+" without "+name, known, analyze(t, w, tt.request()))
		}
	}
}

// checkLess compares a verdict with one based on more answers.
func checkLess(t *testing.T, name string, known, less *AnalyzeReport) {
	codes := diagtest.Codes(known.Verdict)
	for _, f := range less.Findings {
		ignorant := f.Code == "header.live.dns" || f.Code == "header.live.ptr.unknown"
		assert.True(t, f.Severity < diag.Warning || ignorant || slices.Contains(codes, f.Code), "%s: finding %s", name, f.Code)
	}
	for _, c := range less.Passed {
		assert.True(t, slices.Contains(known.Passed, c), "%s: passed %s", name, c.Code)
	}
	for i, f := range less.Factors {
		if i < len(known.Factors) && known.Factors[i].Code == f.Code {
			assert.LessOrEqual(t, f.Points, known.Factors[i].Points, "%s: %s", name, f.Code)
		}
	}
	assert.True(t, less.Conclusion.Authentic == NotDecided || less.Conclusion.Authentic == known.Conclusion.Authentic, "%s: %s",
		name, less.Conclusion.Authentic)
	rank := map[diag.State]int{diag.Valid: 0, diag.Warned: 1, diag.Bad: 2}
	assert.True(t, less.State == diag.Unknown || less.State == known.State || less.Live.Partial && rank[less.State] < rank[known.State],
		"%s: %s after %s", name, less.State, known.State)
}

// coverLive adds cases that the table cannot express, and requires that each rule passed and failed.
func coverLive(t *testing.T, seen diagtest.Seen) {
	w := mailWorld(t)
	failed := "ARC-Seal: i=1; a=rsa-sha256; t=1; cv=none; d=example.net; s=none; b=QUFB\n" +
		"ARC-Message-Signature: i=1; a=rsa-sha256; d=example.net; s=none; h=from; bh=QUFB; b=QUFB\n" +
		"ARC-Authentication-Results: i=1; example.net; dmarc=pass header.from=example.org\n"
	r := analyze(t, w, AnalyzeRequest{Message: failed + direct + letter})
	require.Empty(t, liveCodes(r.Verdict))
	require.Equal(t, arc.Fail, r.Live.ARC.Result)
	seen.Add(r.Verdict)
	r = analyze(t, w, AnalyzeRequest{Message: sealed(t, direct+signed(t, letter, "example.org", nil))})
	require.Empty(t, liveCodes(r.Verdict))
	require.Equal(t, "pass", string(r.Live.ARC.Result))
	seen.Add(r.Verdict)
	diagtest.CoverRules(t, liveRules(), seen)
	diagtest.CheckTexts(t, analyzeTexts, analyzeRules().Describe(), seen)
}

// All queries run concurrently: only the addresses of names depend on an answer.
func TestAnalyzeRoundTrips(t *testing.T) {
	text := signed(t, letter, "example.org", nil)
	for i := range 5 {
		text = signed(t, text, fmt.Sprintf("d%d.example.net", i), nil)
	}
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		w.Zone(mailZone)
	}, func(ctx context.Context, env *diag.Env) {
		_, err := Analyze(ctx, env, AnalyzeRequest{Message: forwarded + text})
		require.NoError(t, err)
	})
	require.Equal(t, 2, trips)
}

// Queries without an answer time out, and their results are unknown.
func TestAnalyzeSilence(t *testing.T) {
	text := forwarded + signed(t, letter, "example.org", nil)
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(mailZone)
		for _, name := range []string{"example.org", "s1._domainkey.example.org", "_dmarc.example.org", "61.100.51.198.in-addr.arpa"} {
			w.Silence(name)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		begin := time.Now()
		r, err := Analyze(ctx, w.Env(), AnalyzeRequest{Message: text})
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(begin), 10*time.Second)
		require.Equal(t, NotDecided, r.Conclusion.Authentic)
		require.Equal(t, diag.Unknown, r.State, diagtest.Codes(r.Verdict))
		require.True(t, r.Live.Partial)
	})
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(mailZone)
		w.Silence("example.org")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		cancel()
		_, err := Analyze(ctx, w.Env(), AnalyzeRequest{Message: text})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestAnalyzeOffline(t *testing.T) {
	const results = "Authentication-Results: mx.example.com; dmarc=%s header.from=example.org\n"
	for _, tt := range []struct {
		noted   string
		trusted []string
		want    Authenticity
	}{
		{"pass", []string{"mx.example.com"}, Likely},
		{"pass", nil, NotDecided},
		{"fail", []string{"mx.example.com"}, Unlikely},
		{"none", []string{"mx.example.com"}, NotDecided},
	} {
		req := AnalyzeRequest{
			Headers: fmt.Sprintf(results, tt.noted) + direct + headOf(letter), Live: new(false), TrustedAuthservIDs: tt.trusted,
		}
		r, err := Analyze(t.Context(), &diag.Env{Resolver: noResolver{t}}, req)
		require.NoError(t, err)
		require.False(t, r.Live.Performed)
		require.Empty(t, liveCodes(r.Verdict))
		require.Equal(t, tt.want, r.Conclusion.Authentic)
		require.Equal(t, "192.0.2.25", r.Conclusion.SendingIP)
	}
}

// noResolver must not be queried.
type noResolver struct{ t *testing.T }

func (r noResolver) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) {
	r.t.Error("the DNS was asked")
	return nil, context.Canceled
}

func TestAnalyzeInput(t *testing.T) {
	w := mailWorld(t)
	many := make([]string, maxTrusted+1)
	for _, req := range []AnalyzeRequest{
		{}, {Headers: "A: b", Message: "A: b"}, {Headers: strings.Repeat("a", message.MaxHeaderBytes+1)},
		{Message: strings.Repeat("a", maxMessageBytes+1)}, {MessageBase64: make([]byte, maxMessageBytes+1)},
		{Headers: "A: b", TrustedAuthservIDs: many},
	} {
		_, err := Analyze(t.Context(), w.Env(), req)
		var input *diag.InputError
		require.ErrorAs(t, err, &input)
	}
	text := direct + signed(t, letter, "example.org", nil)
	a := analyze(t, w, AnalyzeRequest{Message: text})
	b := analyze(t, w, AnalyzeRequest{MessageBase64: []byte(strings.ReplaceAll(text, "\n", "\r\n"))})
	require.Equal(t, a.Conclusion, b.Conclusion)
}

// Nothing that a sender writes into a message makes it authentic.
func TestAnalyzeBelievesNoClaims(t *testing.T) {
	w := mailWorld(t)
	claims := []string{
		"Authentication-Results: mx.example.com; dmarc=pass header.from=example.org\n",
		"Received: from mail.example.org (mail.example.org [192.0.2.25]) by mx.example.com; Sun, 01 Nov 2026 09:00:03 +0000\n",
		"Received-SPF: pass client-ip=192.0.2.25; envelope-from=alice@example.org\n",
		"X-Forwarded-To: bob@example.com\nList-Id: <a.example.net>\n",
		"ARC-Seal: i=1; a=rsa-sha256; t=1; cv=none; d=example.net; s=none; b=QUFB\n" +
			"ARC-Message-Signature: i=1; a=rsa-sha256; d=example.net; s=none; h=from; bh=QUFB; b=QUFB\n" +
			"ARC-Authentication-Results: i=1; mx.example.com; dmarc=pass header.from=example.org\n",
		"DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=example.org; s=s9; h=from; bh=QUFB; b=QUFB\n",
		"Return-Path: <b@vps.hosting.test>\n",
	}
	lie := strings.Replace(spoofed, "from vps.hosting.test (vps.hosting.test", "from mx2.example.com (unknown", 1)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{spoofed, lie}).Draw(t, "hop")
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(claims)-1), 0, 8).Draw(t, "claims") {
			text += claims[i]
		}
		r, err := Analyze(context.Background(), w.Env(), AnalyzeRequest{
			Message: text + letter, TrustedAuthservIDs: []string{"mx.example.com"},
		})
		require.NoError(t, err)
		require.NotEqual(t, Likely, r.Conclusion.Authentic, "%s\n%q", text, r.Conclusion.Reasons)
		require.Equal(t, "203.0.113.77", r.Conclusion.SendingIP, text)
	})
}

// A message crafted to keep verifiers busy stays within the bounds on lookups and time.
func TestAnalyzeHostile(t *testing.T) {
	var many strings.Builder
	for i := range 700 {
		fmt.Fprintf(&many, "DKIM-Signature: v=1; a=rsa-sha256; d=d%d.test; s=s; h=from; bh=QUFB; b=QUFB\n", i)
		fmt.Fprintf(&many, "Received: from a%d.test (a%d.test [203.0.113.%d]) by mx.example.com; Sun, 01 Nov 2026 09:00:04 +0000\n", i, i, i%250)
	}
	text := many.String() + letter + strings.Repeat("a line of the body that is long enough\n", maxMessageBytes/40-10_000)
	w := mailWorld(t)
	r := analyze(t, w, AnalyzeRequest{Message: text})
	require.Len(t, r.Live.DKIM, 50)
	require.Equal(t, 650, r.Live.DKIMMore)
	require.LessOrEqual(t, len(r.Conclusion.Reasons), maxReasons+4)
	require.Less(t, len(w.Queries()), 400)
}

// Checks that did not run are neither passed nor scored.
func TestAnalyzePraisesNothingUnexamined(t *testing.T) {
	w := mailWorld(t)
	env := w.NewEnv()
	env.Resolver = silence{}
	r, err := Analyze(t.Context(), env, AnalyzeRequest{Message: direct + signed(t, letter, "example.org", nil)})
	require.NoError(t, err)
	require.Equal(t, diag.Unknown, r.State)
	require.Nil(t, r.Score)
	for _, c := range r.Passed {
		if strings.HasPrefix(string(c.Code), "header.live.") {
			require.Contains(t, []diag.Code{"header.live.hop", "header.live.dkim.appended", "header.live.dkim.body"}, c.Code)
		}
	}
}

// An undecided message has no score.
func TestUndecidedHasNoScore(t *testing.T) {
	r := analyze(t, mailWorld(t), AnalyzeRequest{Message: letter})
	require.Equal(t, NotDecided, r.Conclusion.Authentic)
	require.Nil(t, r.Score)
	require.Equal(t, diag.Undetermined, r.Band)
}
