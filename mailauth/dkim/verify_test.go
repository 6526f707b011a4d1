package dkim_test

import (
	"crypto"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const mail = "From: Alice <alice@example.org>\r\nTo: bob@example.com\r\nSubject: Minutes  of the meeting\r\n" +
	"Date: Sun, 01 Nov 2026 09:00:00 +0000\r\nMIME-Version: 1.0\r\n\r\nHello Bob,\r\n\r\nhere they are.\r\n\r\nAlice\r\n"

const (
	simple  = "v=1; a=rsa-sha256; d=example.org; s=s1; h=From:To:Subject:Date"
	relaxed = "v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.org; s=s1; h=From:To:Subject:Date"
	edwards = "v=1; a=ed25519-sha256; c=relaxed/relaxed; d=example.org; s=s1; h=From:To:Subject:Date"
)

// replace returns a change of a message.
func replace(old, to string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, old) {
			panic("there is no " + old)
		}
		return strings.Replace(s, old, to, 1)
	}
}

func TestVerify(t *testing.T) {
	tests := []struct {
		name   string
		tags   string
		record string              // of the key; empty for that of the key that signs
		change func(string) string // on the way
		result dkim.AuthResult
		cause  dkim.Cause
		crypto string // body hash and signature: + ok, - not, ? unknown
		issues string
	}{
		{"simple", simple, "", nil, dkim.Pass, "", "++", ""},
		{"relaxed", relaxed, "", nil, dkim.Pass, "", "++", ""},
		{"Ed25519", edwards, "", nil, dkim.Pass, "", "++", ""},
		{"line ends of files", relaxed, "", lf, dkim.Pass, "", "++", ""},
		{"line ends of files and simple", simple, "", lf, dkim.Pass, "", "++", ""},
		{"line ends doubled", simple, "", func(s string) string { return strings.ReplaceAll(s, "\r\n", "\r\r\n") }, dkim.Pass, "", "++", ""},
		{"line ends of old", simple, "", func(s string) string { return strings.ReplaceAll(s, "\r\n", "\r") }, dkim.Pass, "", "++", ""},
		{"letter case of d and i", relaxed + "; i=Alice@MAIL.Example.ORG", "", nil, dkim.Pass, "", "++", ""},
		{"i in quoted-printable", relaxed + "; i=al=69ce@=65xample.org", "", nil, dkim.Pass, "", "++", ""},
		{"relaxed header refolded", relaxed, "", replace("Minutes  of", "Minutes\r\n\tof"), dkim.Pass, "", "++", ""},
		{"query method of drafts", relaxed + "; q=dns", "", nil, dkim.Pass, "", "++", ""},
		{"query methods", relaxed + "; q=ldap : dns/txt", "", nil, dkim.Pass, "", "++", ""},
		{"no white space", "v=1;a=rsa-sha256;c=relaxed;d=example.org;s=s1;h=from:from:to", "", nil, dkim.Pass, "", "++", ""},
		{"U-labels", "v=1; a=rsa-sha256; d=b\u00fccher.example; s=s1; h=From", "", nil, dkim.Pass, "", "++", ""},

		{"body", relaxed, "", replace("here", "there"), dkim.Fail, dkim.BodyChanged, "-+", ""},
		{"footer", relaxed, "", func(s string) string { return s + "--\r\nlist\r\n" }, dkim.Fail, dkim.FooterAdded, "-+", ""},
		{"footer behind blank lines", simple, "", func(s string) string { return s + "\r\n\r\n__\r\nlist\r\n" },
			dkim.Fail, dkim.FooterAdded, "-+", ""},
		{"banner", relaxed, "", replace("\r\n\r\n", "\r\n\r\nCAUTION: external\r\n\r\n"), dkim.Fail, dkim.BannerAdded, "-+", ""},
		{"white space", "v=1; a=rsa-sha256; d=example.org; s=s1; h=from:from:to", "", replace("Hello Bob,", "Hello  Bob, "),
			dkim.Fail, dkim.WhiteSpace, "-+", ""},
		{"header", relaxed, "", replace("To: bob", "To: eve"), dkim.Fail, dkim.HeaderChanged, "+-", ""},
		{"header with copies", relaxed + "; z=To:bob@example.com|Subject:x=20y", "", replace("To: bob", "To: eve"),
			dkim.Fail, dkim.HeaderChanged, "+-", ""},
		{"header and body", relaxed, "", func(s string) string { return replace("To: bob", "To: eve")(s) + "x\r\n" },
			dkim.Fail, dkim.FooterAdded, "--", ""},
		{"subject", relaxed, "", replace("Subject: ", "Subject: [team] "), dkim.Fail, dkim.SubjectTagged, "+-", ""},
		{"subject with Ed25519", edwards, "", replace("Subject: ", "Subject: Re: [team] "), dkim.Fail, dkim.SubjectTagged, "+-", ""},
		{"subject with simple", simple, "", replace("Subject: ", "Subject: [team] "), dkim.Fail, dkim.SubjectTagged, "+-", ""},
		{"field added", relaxed + ":Reply-To", "", replace("To: bob", "Reply-To: list@example.net\r\nTo: bob"),
			dkim.Fail, dkim.FieldAdded, "+-", ""},
		{"list", relaxed + ":Reply-To:List-Id:List-Post:Sender", "", func(s string) string {
			return "List-Id: <a>\r\nReply-To: a\r\nList-Post: <b>\r\n" + replace("Subject: ", "Subject: [team] ")(s)
		}, dkim.Fail, dkim.SubjectTagged, "+-", ""},
		{"list that sorts", relaxed + ":List-Id:List-Post:Sender", "", func(s string) string {
			return replace("To: ", "List-Id: <a>\r\nSender: a\r\nTo: ")(s)
		}, dkim.Fail, dkim.FieldAdded, "+-", ""},
		{"From rewritten", relaxed, "", func(s string) string {
			s = replace("From: Alice", "From: Alice via team <team@example.net>\r\nReply-To: Alice")(s)
			return replace("Subject: ", "Subject: [team] ")(s) + "--\r\nfooter\r\n"
		}, dkim.Fail, dkim.FooterAdded, "--", ""},
		{"From rewritten, no footer", edwards, "", func(s string) string {
			return replace("From: Alice", "From: Alice via team <team@example.net>\r\nX-Original-From: Alice")(s)
		}, dkim.Fail, dkim.FromRewritten, "+-", ""},
		{"second From, oversigned", relaxed + ":From", "", replace("From: ", "From: eve@example.net\r\nFrom: "),
			dkim.Fail, dkim.FieldAdded, "+-", ""},
		{"second From", relaxed, "", replace("From: ", "From: eve@example.net\r\nFrom: "), dkim.Pass, "", "++", "from_added"},
		{"header with Ed25519", edwards, "", replace("To: bob", "To: eve"), dkim.Fail, dkim.BadSignature, "+-", ""},
		{"signature damaged", relaxed, "", replace("b=", "b=AAAA"), dkim.Fail, dkim.OtherKey, "+-", ""},
		{"another key", relaxed, keyRecord(keys().other), nil, dkim.Fail, dkim.OtherKey, "+-", ""},
		{"body hash of nothing", relaxed, "", func(s string) string {
			return emptyHash.ReplaceAllString(s, "bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=;")
		}, dkim.Fail, dkim.EmptyBody, "--", ""},

		{"length", relaxed + "; l=10", "", nil, dkim.Pass, "", "++", "appended"},
		{"length of nothing", relaxed + "; l=0", "", nil, dkim.Pass, "", "++", "appended"},
		{"length of all", relaxed + "; l=39", "", nil, dkim.Pass, "", "++", "body_length"},
		{"length and footer", relaxed + "; l=39", "", func(s string) string { return s + "--\r\nlist\r\n" }, dkim.Pass, "", "++", "appended"},
		{"length and change", relaxed + "; l=39", "", replace("here", "gone"), dkim.Fail, dkim.BodyChanged, "-+", "body_length"},
		{"body cut off", relaxed + "; l=39", "", replace("Alice\r\n", ""), dkim.Fail, dkim.BodyCutOff, "-+", "body_length"},

		{"sha1", strings.Replace(relaxed, "sha256", "sha1", 1), "", nil, dkim.Policy, dkim.Refused, "++", "rsa_sha1"},
		{"no version", strings.TrimPrefix(relaxed, "v=1; "), "", nil, dkim.Policy, dkim.Refused, "++", "draft"},
		{"expired", relaxed + "; t=1793000000; x=1793400000", "", nil, dkim.Policy, dkim.Refused, "++", "expired"},
		{"future", relaxed + "; t=1893000000", "", nil, dkim.Pass, "", "++", "future"},
		{"expires before it was made", relaxed + "; t=1793000000; x=1793000000", "", nil, dkim.Policy, dkim.Refused, "++", "expired times"},
		{"testing", relaxed, "t=y; " + keyRecord(keys().rsa)[9:], nil, dkim.Pass, "", "++", "testing"},
		{"public suffix", "v=1; a=rsa-sha256; d=co.uk; s=s1; h=From", "", nil, dkim.Pass, "", "++", "public_suffix"},

		{"From not signed", "v=1; a=rsa-sha256; d=example.org; s=s1; h=To", "", nil, dkim.PermError, dkim.FromUnsigned, "++", ""},
		{"no h", "v=1; a=rsa-sha256; d=example.org; s=s1", "", nil, dkim.PermError, dkim.TagMissing, "??", ""},
		{"other query method", relaxed + "; q=http", "", nil, dkim.Neutral, dkim.Unsupported, "++", ""},
		{"other version", strings.Replace(relaxed, "v=1", "v=2", 1), "", nil, dkim.Neutral, dkim.Unsupported, "++", ""},
		{"other algorithm", strings.Replace(relaxed, "rsa-sha256", "rsa-sha512", 1), "", nil, dkim.Neutral, dkim.Unsupported, "??", ""},
		{"other canonicalization", strings.Replace(relaxed, "c=relaxed", "c=nowsp", 1), "", nil, dkim.Neutral, dkim.Unsupported, "??", ""},
		{"tag twice", relaxed + "; d=example.org", "", nil, dkim.Neutral, dkim.SyntaxError, "++", ""},
		{"no equals sign", relaxed + "; x", "", nil, dkim.Neutral, dkim.SyntaxError, "++", ""},
		{"bad time", relaxed + "; t=now", "", nil, dkim.Neutral, dkim.SyntaxError, "++", ""},
		{"bad domain", strings.Replace(relaxed, "d=example.org", "d=example..org", 1), "", nil, dkim.Neutral, dkim.SyntaxError, "??", ""},
		{"i elsewhere", relaxed + "; i=@example.net", "", nil, dkim.PermError, dkim.DomainMismatch, "++", ""},
		{"i ends alike", relaxed + "; i=@notexample.org", "", nil, dkim.PermError, dkim.DomainMismatch, "++", ""},

		{"i below", relaxed + "; i=@mail.example.org", "", nil, dkim.Pass, "", "++", ""},
		{"i below, strict", relaxed + "; i=@mail.example.org", "t=s; " + keyRecord(keys().rsa)[9:], nil,
			dkim.PermError, dkim.DomainMismatch, "++", ""},
		{"strict", relaxed + "; i=@example.org", "t=s; " + keyRecord(keys().rsa)[9:], nil, dkim.Pass, "", "++", ""},
		{"no key", relaxed, "NXDOMAIN", nil, dkim.PermError, dkim.KeyMissing, "+?", ""},
		{"key unknown", relaxed, "~~SERVFAIL~~", nil, dkim.TempError, dkim.KeyUnknown, "+?", ""},
		{"DNS silent", relaxed, "~~silent~~", nil, dkim.TempError, dkim.KeyUnknown, "+?", ""},
		{"DNS silent, body changed", relaxed, "~~silent~~", replace("here", "there"), dkim.Fail, dkim.BodyChanged, "-?", ""},
		{"revoked", relaxed, "v=DKIM1; p=", nil, dkim.PermError, dkim.KeyRevoked, "+?", ""},
		{"key of another type", relaxed, keyRecord(keys().ed25519), nil, dkim.PermError, dkim.KeyUnusable, "+-", ""},
		{"key not for mail", relaxed, "s=tlsrpt; " + keyRecord(keys().rsa)[9:], nil, dkim.PermError, dkim.KeyUnusable, "++", ""},
		{"key for sha1 alone", relaxed, "h=sha1; " + keyRecord(keys().rsa)[9:], nil, dkim.PermError, dkim.KeyUnusable, "++", ""},
		{"not a key", relaxed, "google-site-verification=1", nil, dkim.PermError, dkim.KeyUnusable, "+?", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key := crypto.Signer(keys().rsa)
			if strings.Contains(tt.tags, "ed25519") {
				key = keys().ed25519
			}
			if tt.record == "" {
				tt.record = keyRecord(key)
			}
			text := sign(t, key, tt.tags, mail)
			if tt.change != nil {
				text = tt.change(text)
			}
			dns := records{}
			for _, d := range []string{"example.org", "xn--bcher-kva.example", "co.uk"} {
				dns["s1._domainkey."+d+"."] = tt.record
			}
			v, err := dkim.Verify(t.Context(), dns.env(), []byte(text), dkim.Options{})
			require.NoError(t, err)
			require.Len(t, v.Signatures, 1)
			r := v.Signatures[0]
			var issues []string
			for _, issue := range r.Issues {
				issues = append(issues, string(issue.Code))
			}
			assert.Equal(t, tt.result, r.Result, r.Reason)
			assert.Equal(t, tt.cause, r.Cause, r.Reason)
			assert.Equal(t, tt.crypto, sign3(r.BodyHashOK)+sign3(r.SignatureOK))
			assert.Equal(t, tt.issues, strings.Join(issues, " "))
			var passed []string
			for _, d := range v.PassDomains() {
				passed = append(passed, d.String())
			}
			if tt.result == dkim.Pass {
				assert.Equal(t, []string{r.Domain}, passed)
			} else {
				assert.Empty(t, passed)
			}
			t.Log(r.Reason)
		})
	}
}
