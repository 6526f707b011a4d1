package header

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/stretchr/testify/require"
)

// good is a header without a finding.
const good = `Return-Path: <alice@example.org>
Received: from mail.example.org (mail.example.org [192.0.2.25])
	(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits))
	by mx.example.com (Postfix) with ESMTPS id 4XcQ1Z0abc
	for <bob@example.com>; Sun, 01 Nov 2026 09:00:04 +0000 (UTC)
Authentication-Results: mx.example.com;
	dkim=pass (2048-bit key; unprotected) header.d=example.org header.i=@example.org header.s=s1 header.b="Zk3Qh0p0";
	spf=pass smtp.mailfrom=alice@example.org;
	dmarc=pass (policy=reject) header.from=example.org
Received: from [10.1.1.7] (unknown [10.1.1.7])
	by mail.example.org (Postfix) with ESMTPSA id 4XcQ1Y9xyz
	for <bob@example.com>; Sun, 01 Nov 2026 09:00:02 +0000 (UTC)
DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.org; s=s1;
	t=1793523600; x=1794128400; h=from:to:subject:date:message-id:list-unsubscribe:list-unsubscribe-post;
	bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=;
	b=Zk3Qh0p0m1cS9uYxN2Vb7s4mYw3r8TqXlqk5mH2pA0oJx9dLk8fR6s1TeWvUuGQb
X-Spam-Status: No, score=-1.9 required=5.0 tests=DKIM_VALID,SPF_PASS autolearn=ham
List-Unsubscribe: <https://news.example.org/u/4711>
List-Unsubscribe-Post: List-Unsubscribe=One-Click
From: Alice Example <alice@example.org>
Reply-To: office@example.org
Sender: alice@example.org
To: Bob Example <bob@example.com>
Subject: Offer 2026-114
Date: Sun, 01 Nov 2026 09:00:00 +0000
Message-ID: <20261101090000.4711@mail.example.org>
`

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func audit(t testing.TB, header string) *AuditReport {
	env := &diag.Env{Clock: func() time.Time { return now }}
	r, err := Audit(context.Background(), env, AuditRequest{Headers: header})
	require.NoError(t, err)
	return r
}

// without removes the fields of these names, with their continuation lines.
func without(header string, names ...string) string {
	var kept []byte
	m := message.Split([]byte(header))
	for i := range m.Fields {
		if !slices.ContainsFunc(names, m.Fields[i].Is) {
			kept = append(kept, m.Fields[i].Raw...)
		}
	}
	return string(kept)
}

// replaced is the good header with old replaced by new, in pairs.
func replaced(t *testing.T, pairs ...string) string {
	header := good
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(t, header, pairs[i])
		header = strings.ReplaceAll(header, pairs[i], pairs[i+1])
	}
	return header
}

const results = "dkim=pass (2048-bit key; unprotected) header.d=example.org header.i=@example.org header.s=s1 header.b=\"Zk3Qh0p0\";\n" +
	"\tspf=pass smtp.mailfrom=alice@example.org;\n\tdmarc=pass (policy=reject) header.from=example.org"

const arcSet = `ARC-Seal: i=1; a=rsa-sha256; t=1793523606; cv=none; d=groups.example.net; s=arc; b=QmFzZTY0c2VhbA==
ARC-Message-Signature: i=1; a=rsa-sha256; c=relaxed/relaxed; d=groups.example.net; s=arc; h=from:to; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=QmFzZTY0YW1z
ARC-Authentication-Results: i=1; groups.example.net; dkim=pass header.d=example.org; dmarc=pass header.from=example.org
`

func TestAudit(t *testing.T) {
	tests := []struct {
		name, header string
		codes        string // of the findings, sorted
	}{
		{"good", good, ""},
		{"no field", "nothing here\nis a header\n", "header.fields.none"},
		{"a subject only", "Subject: test\n", "header.authres.missing header.date.missing header.dkim.missing header.from.missing header.message_id.missing header.received.missing"},
		{"quoted", "> " + strings.ReplaceAll(strings.TrimSpace(good), "\n", "\n> "), "header.copy.damaged"},
		{"From twice", good + "From: x@example.net\n", "header.from.duplicate"},
		{"two authors", replaced(t, "From: Alice Example <alice@example.org>", "From: a@example.org, b@bank.example"), "header.from.multiple"},
		{"no address", replaced(t, "From: Alice Example <alice@example.org>", "From: Alice"), "header.from.invalid"},
		{"other address shown", replaced(t, "From: Alice Example", `From: "service@bank.example"`), "header.from.display_address"},
		{"other domain shown", replaced(t, "From: Alice Example", "From: www.bank.com"), "header.from.display_domain"},
		{"address shown by a list", replaced(t, "From: Alice Example", `From: "bob@bank.example via Team"`), ""},
		{"own domain shown", replaced(t, "From: Alice Example", "From: news.example.org"), ""},
		{"brand shown", replaced(t, "From: Alice Example", "From: PayPal Service"), "header.from.brand"},
		{"brand in the middle", replaced(t, "From: Alice Example", "From: News about PayPal"), ""},
		{"lookalike of letters", replaced(t, "example.org", "xn--80ak6aa92e.com"), "header.from.lookalike"},
		{"lookalike of digits", replaced(t, "example.org", "paypa1.com"), "header.from.lookalike"},
		{"invisible characters", replaced(t, "Subject: Offer", "Subject: =?utf-8?Q?=E2=80=AE?="), "header.text.direction"},
		{"answers to a free mail address", replaced(t, "office@example.org", "office@gmail.com"), "header.reply_to.freemail"},
		{"answers elsewhere", replaced(t, "office@example.org", "office@example.net"), ""},
		{"bounces elsewhere", replaced(t, "Return-Path: <alice@example.org>", "Return-Path: <b@esp.example.net>"), ""},
		{"sent on behalf", replaced(t, "Sender: alice@example.org", "Sender: x@example.net"), ""},
		{"originating address", good + "X-Originating-IP: [192.0.2.77]\n", ""},
		{"malformed line", good + "this line was cut\n", "header.lines.malformed"},
		{"mailbox file", "From alice@example.org Sun Nov  1 09:00:00 2026\n" + good, ""},
		{"long line", good + "X-Long: " + strings.Repeat("a", 1000) + "\n", "header.lines.long"},
		{"too many fields", good + strings.Repeat("A: b\n", message.MaxFields), "header.size.large"},
		{"NUL", good + "X-Nul: a\x00b\n", "header.characters.control"},
		{"CR in a line", good + "X-CR: a\rb\n", "header.characters.control"},
		{"Latin-1", good + "X-Latin: M\xFCller\n", "header.characters.raw"},
		{"UTF-8", good + "X-Text: Müller\n", ""},
		{"blank before a colon", good + "X-Old : a\n", ""},
		{"CR CR LF", strings.ReplaceAll(good, "\n", "\r\r\n"), ""},
		{"Subject twice", good + "Subject: b\n", "header.dkim.field_added"},
		{"Subject twice, both signed", replaced(t, "to:subject", "to:subject:subject") + "Subject: b\n", "header.fields.duplicate"},
		{"Content-Type under l=", replaced(t, "t=1793523600", "l=10") + "Content-Type: text/html\n", "header.dkim.length header.dkim.mime_unsigned"},
		{"Content-Type without l=", good + "Content-Type: text/html\n", ""},
		{"lookalike, answers to a third domain", replaced(t, "example.org", "paypa1.com", "Reply-To: office@paypa1.com", "Reply-To: a@example.net"),
			"header.from.lookalike header.reply_to.elsewhere"},
		{"lookalike, answers to the original", replaced(t, "example.org", "paypa1.com", "Reply-To: office@paypa1.com", "Reply-To: a@paypal.com"),
			"header.from.lookalike"},
		{"other address shown, answers to a third domain", replaced(t, "From: Alice Example", `From: "service@bank.example"`,
			"Reply-To: office@example.org", "Reply-To: a@example.net"), "header.from.display_address header.reply_to.elsewhere"},
		{"other address shown, answers to it", replaced(t, "From: Alice Example", `From: "service@bank.example"`,
			"Reply-To: office@example.org", "Reply-To: service@bank.example"), "header.from.display_address"},
		{"no recipient", without(good, "To"), ""},
		{"no Message-ID", without(good, "Message-ID"), "header.message_id.missing"},
		{"bad Message-ID", replaced(t, "<20261101090000.4711@mail.example.org>", "4711"), ""},

		{"no results", without(good, "Authentication-Results"), "header.authres.missing"},
		{"results without syntax", replaced(t, "mx.example.com;\n\tdkim", "mx.example.com\n\tdkim"), ""},
		{"Microsoft", replaced(t, "Authentication-Results: mx.example.com;\n\t"+results, "Authentication-Results: spf=pass smtp.mailfrom=example.org; dkim=pass header.d=example.org;dmarc=pass action=none header.from=example.org;compauth=pass reason=100"), ""},
		{"results of others", good + "Authentication-Results: gw.example.net; spf=pass smtp.mailfrom=example.org\n", ""},
		{"forged results", good + "Authentication-Results: mx.example.com; dmarc=pass header.from=example.org\n", "header.authres.forged"},
		{"contradicted results", replaced(t, "dmarc=pass", "dmarc=fail") + "Authentication-Results: gw.example.net; dmarc=pass header.from=example.org\n", "header.authres.contradicted header.dmarc.fail"},
		{"DMARC failed", replaced(t, "dmarc=pass", "dmarc=fail", "dkim=pass", "dkim=fail", "spf=pass", "spf=softfail", "\nList-Unsubscribe-Post: List-Unsubscribe=One-Click", ""),
			"header.dkim.fail header.dmarc.fail header.list.one_click.missing header.spf.weak"},
		{"DMARC failed behind a list", replaced(t, "dmarc=pass", "arc=pass (i=1); dmarc=fail") + arcSet, "header.dmarc.forwarded"},
		{"DMARC has no verdict", replaced(t, "dmarc=pass", "dmarc=temperror"), "header.dmarc.error"},
		{"no DMARC policy", replaced(t, "dmarc=pass", "dmarc=none"), "header.dmarc.none"},
		{"SPF failed", replaced(t, results, "spf=fail smtp.mailfrom=alice@example.org"), "header.spf.fail"},
		{"SPF failed by Received-SPF", "Received-SPF: fail (x) client-ip=192.0.2.25\n" + without(good, "Authentication-Results"), "header.spf.fail"},
		{"SPF outweighed", replaced(t, "spf=pass", "spf=fail"), "header.spf.outweighed"},
		{"SPF permerror", replaced(t, "spf=pass", "spf=permerror"), "header.spf.error"},
		{"not aligned", replaced(t, results, "spf=pass smtp.mailfrom=b@esp.example.net"), "header.alignment.none"},
		{"aligned without DMARC", replaced(t, results, "spf=pass smtp.mailfrom=b@bounce.example.org"), ""},
		{"ARC without a set", good + strings.ReplaceAll(arcSet, "i=1", "i=2"), "header.arc.order"},
		{"ARC marked as broken", good + strings.ReplaceAll(arcSet, "cv=none", "cv=fail"), ""},

		{"no signature", without(good, "DKIM-Signature", "List-Unsubscribe-Post", "List-Unsubscribe"), "header.dkim.missing"},
		{"signature without b", replaced(t, "b=Zk3Qh0p0m", "x=Zk3Qh0p0m"), "header.dkim.malformed"},
		{"From not signed", replaced(t, "h=from:", "h="), "header.dkim.from_unsigned"},
		{"Subject not signed", replaced(t, "to:subject", "to"), "header.dkim.subject_unsigned"},
		{"Date not signed", replaced(t, "subject:date", "subject"), "header.dkim.uncovered"},
		{"SHA-1", replaced(t, "rsa-sha256", "rsa-sha1"), "header.dkim.sha1"},
		{"part of the body", replaced(t, "t=1793523600", "l=10"), "header.dkim.length"},
		{"results of others alone", without(good, "Authentication-Results") +
			"Authentication-Results: mx.example.com; dmarc=pass header.from=example.org\n",
			"header.authres.missing"},
		{"one click, and keys that could not be looked up", replaced(t, "dkim=pass", "dkim=temperror"), "header.dkim.fail"},
		{"expired", replaced(t, "x=1794128400", "x=1793523601"), "header.dkim.expired"},
		{"signed later", replaced(t, "t=1793523600; x=1794128400", "t=1793599999"), "header.dkim.future"},
		{"signed by a service", replaced(t, "d=example.org; s", "d=esp.example.net; s", "d=example.org ", "d=esp.example.net ", "header.i=@example.org ", ""), "header.dkim.unaligned"},

		{"no Received", without(good, "Received"), "header.received.missing"},
		{"loop", strings.Repeat("Received: by a.example.com; Sun, 01 Nov 2026 09:00:05 +0000\n", 150) + good, "header.received.loop"},
		{"no time", replaced(t, "Sun, 01 Nov 2026 09:00:02 +0000 (UTC)", "yesterday"), ""},
		{"no Date", without(good, "Date"), "header.date.missing"},
		{"bad Date", replaced(t, "Date: Sun, 01 Nov 2026 09:00:00 +0000", "Date: today"), "header.date.invalid"},
		{"odd Date", replaced(t, "Date: Sun, 01 Nov 2026 09:00:00 +0000", "Date: Mon, 01 Nov 2026 09:00:00 GMT"), ""},
		{"Date in the future", replaced(t, "Date: Sun, 01", "Date: Tue, 03"), "header.date.future"},
		{"Date in the future without hops", without(replaced(t, "Date: Sun, 01", "Date: Tue, 03"), "Received"), "header.date.future header.received.missing"},
		{"a clock that is six hours slow", replaced(t, "Date: Sun, 01 Nov 2026 09:00:00", "Date: Sun, 01 Nov 2026 03:00:00"), "header.date.past"},
		{"Date in the past", replaced(t, "Date: Sun, 01 Nov", "Date: Thu, 01 Oct"), "header.date.past"},
		{"clock", replaced(t, "09:00:02", "09:10:02"), "header.hop.time.backwards"},
		{"greylisting", replaced(t, "09:00:04 +0000", "15:02:10 +0000"), "header.hop.delay.long"},
		{"busy", replaced(t, "09:00:04 +0000", "09:20:10 +0000"), ""},
		{"no TLS", replaced(t, "\n\t(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits))", "", "ESMTPS id 4XcQ1Z", "ESMTP id 4XcQ1Z"), "header.hop.tls.missing"},
		{"old TLS", replaced(t, "TLSv1.3", "TLSv1"), "header.hop.tls.version"},
		{"HELO of the receiver", replaced(t, "from mail.example.org (mail.example.org [192", "from mx.example.com (unknown [192"), "header.hop.helo.receiver"},
		{"impossible address", replaced(t, "[10.1.1.7])", "[10.1.1.777])"), "header.hop.address.impossible"},

		{"spam", replaced(t, "No, score=-1.9", "Yes, score=15.2"), "header.spam.spam"},
		{"phishing", good + "X-Forefront-Antispam-Report: CIP:192.0.2.25;SCL:8;SFV:SPM;CAT:PHSH;\n", "header.spam.malicious"},
		{"suspicious", good + "X-Rspamd-Action: greylist\n", ""},
		{"allowed", good + "X-MS-Exchange-Organization-SCL: -1\n", ""},

		{"no brackets", replaced(t, "<https://news.example.org/u/4711>", "https://news.example.org/u/4711"), "header.list.unsubscribe.syntax"},
		{"Post alone", without(good, "List-Unsubscribe"), "header.list.one_click.alone"},
		{"mailto only", replaced(t, "<https://news.example.org/u/4711>", "<mailto:u@example.org>"), "header.list.one_click.https"},
		{"http only", without(replaced(t, "<https://news.example.org/u/4711>", "<http://news.example.org/u/4711>"), "List-Unsubscribe-Post"),
			"header.list.one_click.missing"},
		{"wrong value", replaced(t, "List-Unsubscribe=One-Click", "One-Click"), "header.list.one_click.value"},
		{"fields not signed", replaced(t, ":list-unsubscribe:list-unsubscribe-post", ""), "header.list.one_click.unsigned"},
		{"bulk without a way out", without(good, "List-Unsubscribe", "List-Unsubscribe-Post") + "Precedence: bulk\n", "header.list.unsubscribe.missing"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := audit(t, tt.header)
			var codes []string
			for _, c := range seen.Add(r.Verdict) {
				codes = append(codes, string(c))
			}
			slices.Sort(codes)
			require.Equal(t, tt.codes, strings.Join(slices.Compact(codes), " "), "%+v", r.Findings)
			for _, a := range r.Anomalies {
				require.Contains(t, r.Findings, a)
			}
		})
	}
	diagtest.CoverRules(t, auditRules(), seen)
	diagtest.CheckTexts(t, auditTexts, auditRules().Describe(), seen)
	for _, code := range anomalyCodes {
		require.True(t, slices.ContainsFunc(auditRules(), func(r rule.Rule[*evidence]) bool { return r.Code == code }), code)
	}
}

func TestInput(t *testing.T) {
	for _, text := range []string{"", strings.Repeat("a", message.MaxHeaderBytes+1)} {
		_, err := Audit(context.Background(), nil, AuditRequest{Headers: text})
		require.ErrorAs(t, err, new(*diag.InputError))
	}
}

// The facts of a good header are complete.
func TestFacts(t *testing.T) {
	r := audit(t, good)
	require.Equal(t, []string{"Alice Example <alice@example.org>"}, r.Message.From)
	require.Equal(t, "alice@example.org", *r.Message.ReturnPath)
	require.Equal(t, "20261101090000.4711@mail.example.org", r.Message.MessageID)
	require.Equal(t, 15, r.HeadersCount)
	require.Equal(t, "example.org", r.Alignment.OrganizationalDomain)
	require.True(t, *r.Alignment.SPFAligned && *r.Alignment.DKIMAligned && r.List.OneClick)
	require.Equal(t, int64(2), *r.TotalDelay)
	require.Len(t, r.Hops, 2)
	require.Equal(t, "10.1.1.7", r.Hops[0].IP.String())
	require.True(t, r.Hops[0].PrivateIP && !r.Hops[0].Border && r.Hops[1].Border && *r.Hops[1].TLS)
	require.Equal(t, "reject", r.Authentication.DMARC[0].Policy)
	require.Equal(t, "s1", r.Authentication.DKIM[0].Selector)
	require.Nil(t, r.Authentication.DKIM[0].Trusted)
	require.True(t, *r.DKIMSignatures[0].Aligned)
	require.Equal(t, 100, *r.Score)

	r = audit(t, replaced(t, "d=example.org; s", "d=sendgrid.net; s", "(mail.example.org [", "(o1.ptr.sendgrid.net ["))
	require.Equal(t, "Twilio SendGrid", r.DKIMSignatures[0].Service)
	require.Equal(t, "Twilio SendGrid", r.Hops[1].Service)
	require.True(t, slices.ContainsFunc(r.Findings, func(f diag.Finding) bool {
		return f.Code == "header.dkim.unaligned" && strings.Contains(f.Detail, "To let Twilio SendGrid sign with your domain: ")
	}), "%+v", r.Findings)

	r = audit(t, "Return-Path: <>\nReceived: from a by b; x\n"+arcSet)
	require.Empty(t, *r.Message.ReturnPath)
	require.Equal(t, 1, r.ARC.Instances)
	require.True(t, r.ARC.OrderValid && r.ARC.Seals[0].Complete)
	require.Equal(t, []string{"dkim=pass", "dmarc=pass"}, r.ARC.Seals[0].Results)
	require.Nil(t, r.TotalDelay)
}

// The border is where the message entered from outside, however many servers of the receiver follow.
func TestBorder(t *testing.T) {
	const at = "; Sun, 01 Nov 2026 09:00:04 +0000\n"
	tests := []struct {
		name, header string
		ip           string
	}{
		{"one hop", "Received: from a.example.org ([192.0.2.1]) by mx.example.com" + at, "192.0.2.1"},
		{"inner hop", "Received: from mx.example.com ([10.0.0.1]) by store.example.com" + at + "Received: from a.example.org ([192.0.2.1]) by mx.example.com" + at, "192.0.2.1"},
		{"public inner hop", "Received: from mx.example.com (mx.example.com [198.51.100.1]) by store.example.com" + at + "Received: from a.example.org ([192.0.2.1]) by mx.example.com" + at, "192.0.2.1"},
		{"forwarded", "Received: from fwd.example.net ([198.51.100.1]) by mx.example.com" + at + "Received: from a.example.org ([192.0.2.1]) by fwd.example.net" + at, "198.51.100.1"},
		{"Gmail", "Received: by 2002:a05:6a10::1 with SMTP id x" + at + "Received: from a.example.org (a.example.org. [192.0.2.1]) by mx.google.com with ESMTPS id y" + at, "192.0.2.1"},
		{"HELO of the receiver", "Received: from mx.example.com (unknown [192.0.2.1]) by mx.example.com" + at, "192.0.2.1"},
		{"internal names", "Received: from a ([10.0.0.1]) by store.internal" + at + "Received: from a.example.org ([192.0.2.1]) by mx.internal" + at, "192.0.2.1"},
		{"Microsoft", "Received: from a.eurprd08.prod.outlook.com (2603:10a6::1) by b.eurprd08.prod.outlook.com with HTTPS" + at +
			"Received: from c.mail.protection.outlook.com (2603:10a6::2) by a.outlook.office365.com (2603:10a6::3) with Microsoft SMTP Server id 15" + at +
			"Received: from a.example.org (192.0.2.1) by c.mail.protection.outlook.com (10.2.3.4) with Microsoft SMTP Server id 15" + at, "192.0.2.1"},
		{"private only", "Received: from a ([10.0.0.1]) by mx.example.com" + at, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := readMessage(message.Split([]byte(tt.header)), now).path.BorderHop()
			if tt.ip == "" {
				require.Nil(t, h)
				return
			}
			require.Equal(t, tt.ip, h.IP.String())
		})
	}
}

// Results count if the receiving side wrote them, or with named servers, if one of these did.
func TestResultsThatCount(t *testing.T) {
	const received = "Received: from a.example.org ([192.0.2.1]) by mx.example.com; Sun, 01 Nov 2026 09:00:04 +0000\n"
	tests := []struct {
		name, header string
		trusted      []string
		spf          string
	}{
		{"own name", received + "Authentication-Results: auth.example.com; spf=fail\n", nil, "fail"},
		{"at the top", "Authentication-Results: elsewhere.example.net; spf=fail\n" + received, nil, "fail"},
		{"without a name", received + "Authentication-Results: spf=fail\n", nil, "fail"},
		{"foreign name", received + "Authentication-Results: a.example.org; spf=pass\n", nil, ""},
		{"below another server", received + "Received: by a.example.org; x\nAuthentication-Results: mx.example.com; spf=pass\n", nil, ""},
		{"without a name beside one with it", received + "Authentication-Results: mx.example.com; dkim=pass\nAuthentication-Results: spf=pass\n", nil, ""},
		{"Microsoft", "Received: from a.example.org (192.0.2.1) by mx.example.com with Microsoft SMTP Server; x\nAuthentication-Results: spf=fail\nAuthentication-Results: x.example.com; dkim=pass\n", nil, "fail"},
		{"internal names", "Received: from a.internal ([10.0.0.1]) by store.internal; x\nAuthentication-Results: spf.icloud.com; spf=pass\n" +
			"Received: from a.example.org ([192.0.2.1]) by mta.svc.cluster.local; x\nReceived: from b ([192.0.2.2]) by a.example.org; x\n", nil, "pass"},
		{"numbers for names", "Authentication-Results: a.mail.yahoo.com; spf=pass\nReceived: from 192.0.2.1 (EHLO a.example.org) by 10.1.2.3; x\n" +
			"Received: by a.example.org; x\nAuthentication-Results: b.example.org; spf=fail\n", nil, "pass"},
		{"no hops", "Authentication-Results: a.example.org; spf=pass\n", nil, "pass"},
		{"trusted", received + "Authentication-Results: a.example.org; spf=pass\n", []string{"a.example.org"}, "pass"},
		{"not trusted", received + "Authentication-Results: mx.example.com; spf=pass\n", []string{"a.example.org"}, ""},
		{"Received-SPF", "Received-SPF: softfail (x) client-ip=192.0.2.1;\n" + received, nil, "softfail"},
		{"both", "Received-SPF: softfail\nAuthentication-Results: mx.example.com; spf=pass\n" + received, nil, "pass"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := readPasted([]byte(tt.header), now)
			e.trusted = tt.trusted
			require.Equal(t, tt.spf, e.value("spf"))
		})
	}
}

// No file of the vectors causes an error, and the fields of their servers are found.
func TestConformanceHeaders(t *testing.T) {
	files, hops, timed, results, verdicts, findings := 0, 0, 0, 0, 0, 0
	for _, path := range diagtest.Suite(t, "mail/headers", "mail/dkim", "mail/arc", "mail/failure-reports", "mail/dmarc-reports") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		head := string(text[:len(text)-len(message.Split(text).Body)])
		if len(message.Split(text).Fields) == 0 || len(head) > message.MaxHeaderBytes {
			continue
		}
		r := audit(t, head)
		require.NotEmpty(t, r.Headline, path)
		received := len(message.Split([]byte(head)).All("Received"))
		require.GreaterOrEqual(t, len(r.Hops), received, path)
		for _, h := range r.Hops {
			if !h.Timestamp.IsZero() {
				timed++
			}
		}
		results += len(r.Authentication.SPF) + len(r.Authentication.DKIM) + len(r.Authentication.DMARC) + len(r.Authentication.ARC)
		files, hops, verdicts, findings = files+1, hops+len(r.Hops), verdicts+len(r.SpamVerdicts), findings+len(r.Findings)
	}
	require.Positive(t, files)
	require.Positive(t, results)
	require.Greater(t, timed*100, hops*95, "hops with a time, in percent")
	t.Logf("%d files, %d hops, %d with a time, %d results, %d verdicts of filters, %d findings", files, hops, timed, results, verdicts, findings)
}

// Missing fields count as no passed check, and without authentication results there is no score.
func TestNothingUnseenIsPraised(t *testing.T) {
	r := audit(t, "From: alice@example.org\nTo: bob@example.com\nSubject: Offer\n"+
		"Date: Sun, 01 Nov 2026 09:00:00 +0000\nMessage-ID: <1@example.org>\n")
	require.Nil(t, r.Score)
	require.Equal(t, diag.Undetermined, r.Band)
	require.Contains(t, r.Headline, "authenticat")
	for _, c := range r.Passed {
		for _, part := range []string{"header.authres", "header.dkim", "header.dmarc", "header.spf", "header.arc", "header.hop",
			"header.received", "header.reply_to", "header.spam", "header.list", "header.from.display", "header.from.brand", "header.date.past"} {
			require.False(t, strings.HasPrefix(string(c.Code), part), c.Code)
		}
	}
}
