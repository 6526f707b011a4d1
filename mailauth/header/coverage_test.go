package header

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Gaps in a signature are reported beside the verdict, and what it covers is not doubted.
func TestCoverage(t *testing.T) {
	whole := len(bodyOf(letter))
	good := signedInPart(t, letter, allFields, -1)
	oversigned := signedInPart(t, letter, allFields+":"+allFields+":reply-to", -1)
	const noSubject = "from:to:date:message-id:mime-version:content-type"
	const noMIME = "from:to:subject:date:message-id"
	for _, tt := range []struct {
		name, text, codes, names string
	}{
		{"everything", replayed + oversigned, "", ""},
		{"nothing of the body", replayed + signedInPart(t, letter, allFields, 0), "header.live.dkim.body_unsigned", "l=0"},
		{"a part of the body", replayed + signedInPart(t, letter, allFields, 10), "header.live.dkim.appended", "l=10"},
		{"the whole body by l=", replayed + signedInPart(t, letter, allFields, whole), "header.dkim.length", "can append"},
		{"the whole body by l= without MIME", replayed + signedInPart(t, letter, noMIME, whole),
			"header.dkim.mime_unsigned header.dkim.length", "Content-Type"},
		{"no MIME field", replayed + signedInPart(t, letter, noMIME, -1), "", ""},
		{"no Subject", replayed + signedInPart(t, letter, noSubject, -1), "header.dkim.subject_unsigned", `"Offer"`},
		{"no Subject, and a signature with it", replayed + signedInPart(t, good, noSubject, -1), "", ""},
		{"no Subject on the direct way", direct + signedInPart(t, letter, noSubject, -1), "header.dkim.subject_unsigned", `"Offer"`},
		{"Subject added", replayed + "Subject: You have won\n" + good, "header.dkim.field_added", `"You have won"`},
		{"Subject added to none", replayed + "Subject: You have won\n" + signedInPart(t, without(headOf(letter), "Subject")+
			"\nHello Bob,\n\nhere is the offer.\n", noSubject, -1), "header.dkim.subject_unsigned", `"You have won"`},
		{"To added", replayed + "To: carol@example.net\n" + good, "header.dkim.field_added", "carol@example.net"},
		{"Date added", replayed + "Date: Sun, 01 Nov 2026 09:00:01 +0000\n" + good, "header.dkim.field_added", "09:00:01"},
		{"Content-Type added", replayed + "Content-Type: text/html\n" + good, "header.dkim.field_added", "text/html"},
		{"Reply-To added", replayed + "Reply-To: x@vps.hosting.test\n" + good, "header.live.dkim.reply_to", "x@vps.hosting.test"},
		{"part of the body, header alone", headOf(replayed + signedInPart(t, letter, allFields, 10)), "header.live.undecided header.dkim.length", "first 10 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := analyzeCase{text: tt.text}
			r := analyze(t, c.world(t), c.request())
			var codes []string
			var details strings.Builder
			for _, f := range r.Findings {
				if f.Severity >= diag.Warning || f.Code == "header.live.undecided" {
					codes = append(codes, string(f.Code))
				}
				details.WriteString(f.Detail)
			}
			slices.Sort(codes)
			want := strings.Fields(tt.codes)
			slices.Sort(want)
			require.Equal(t, want, append([]string{}, codes...))
			require.Contains(t, details.String(), tt.names)
			if tt.codes == "" {
				require.Equal(t, Likely, r.Conclusion.Authentic)
			}
		})
	}
}

// An unsigned body is never reported as unchanged.
func TestCoverageIsNotPraised(t *testing.T) {
	for _, length := range []int{0, 10} {
		r := analyze(t, mailWorld(t), AnalyzeRequest{Message: replayed + signedInPart(t, letter, allFields, length)})
		require.False(t, slices.ContainsFunc(r.Passed, func(c diag.Check) bool { return c.Code == "header.live.dkim.body" }))
		require.NotContains(t, r.Headline, "authentic")
	}
}

// A DMARC pass recorded by the receiver proves no more than the signature on which it may rest.
func TestCoverageOfNotes(t *testing.T) {
	const dmarc = "Authentication-Results: mx.example.com;%s dmarc=pass header.from=example.org\n"
	for _, tt := range []struct {
		spf, letter string
		want        Authenticity
	}{
		{"", signedInPart(t, letter, allFields, -1), Likely},
		{"", signedInPart(t, letter, allFields, 0), NotDecided},
		{"", signedInPart(t, letter, "from:date", -1), NotDecided},
		{" spf=pass smtp.mailfrom=x@vps.hosting.test;", signedInPart(t, letter, allFields, 0), NotDecided},
		{" spf=pass smtp.mailfrom=alice@example.org;", signedInPart(t, letter, allFields, 0), Likely},
	} {
		text := strings.Replace(dmarc, "%s", tt.spf, 1) + replayed + headOf(tt.letter)
		r := analyze(t, mailWorld(t), AnalyzeRequest{Headers: text, Live: new(false), TrustedAuthservIDs: []string{"mx.example.com"}})
		require.Equal(t, tt.want, r.Conclusion.Authentic, text)
	}
}

// A message is authentic only if the From, the Subject and the body that are shown are covered by one valid signature
// of the author's domain, or if SPF authenticates its delivery.
func TestAuthenticIsCovered(t *testing.T) {
	w := mailWorld(t)
	added := []string{"Subject: You have won\n", "From: alice@example.org\n", "To: carol@example.net\n", "Reply-To: x@example.net\n",
		"Content-Type: text/html\n", "Date: Sun, 01 Nov 2026 09:00:01 +0000\n", "X-Other: a\n"}
	rapid.Check(t, func(rt *rapid.T) {
		type signature struct {
			names  string
			length int
		}
		var signatures []signature
		text := letter
		for range rapid.IntRange(0, 2).Draw(rt, "signatures") {
			names := []string{"from"}
			for _, name := range strings.Split(allFields+":"+allFields+":reply-to", ":") {
				if rapid.Bool().Draw(rt, name) {
					names = append(names, name)
				}
			}
			s := signature{strings.Join(names, ":"), rapid.SampledFrom([]int{-1, -1, 0, 10, len(bodyOf(letter))}).Draw(rt, "l")}
			signatures = append(signatures, s)
			text = signedInPart(t, text, s.names, s.length)
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(added)-1), 0, 2).Draw(rt, "added") {
			text = added[i] + text
		}
		text += rapid.SampledFrom([]string{"", "", "pay to another account\n"}).Draw(rt, "tail")
		way := rapid.SampledFrom([]string{direct, replayed, forwarded}).Draw(rt, "way")

		m := message.Split([]byte(text))
		covered := way == direct
		for _, s := range signatures {
			listed := func(name string) bool { // and none is present that is not signed
				return strings.Count(":"+s.names+":", ":"+name+":") >= len(m.All(name))
			}
			intact := true // a signed field that was absent has not been added
			for name := range strings.SplitSeq(s.names, ":") {
				was := len(message.Split([]byte(letter)).All(name))
				now := min(len(m.All(name)), strings.Count(":"+s.names+":", ":"+name+":"))
				intact = intact && now <= was
			}
			body := s.length < 0 && strings.HasSuffix(text, bodyText(letter)) || s.length >= len(bodyOf(text))
			covered = covered || intact && listed("from") && listed("subject") && body
		}
		r, err := Analyze(t.Context(), w.Env(), AnalyzeRequest{Message: way + text})
		require.NoError(rt, err)
		want := NotDecided
		if covered && len(m.All("From")) == 1 {
			want = Likely
		}
		if want == Likely || r.Conclusion.Authentic == Likely {
			require.Equal(rt, want, r.Conclusion.Authentic, "%s\n%q", way+text, r.Conclusion.Reasons)
		}
		if r.Conclusion.Authentic != Likely {
			require.NotEqual(rt, diag.Valid, r.State, "%s\n%v", way+text, diagtest.Codes(r.Verdict))
		}
	})
}

// bodyText is the body of a message with its line ends.
func bodyText(text string) string { _, body, _ := strings.Cut(text, "\n\n"); return body }

// The sender's advice says what to change, and never to ask the sender.
func TestForSender(t *testing.T) {
	known := analyzeRules().Describe()
	for code, advice := range forSender {
		i := slices.IndexFunc(known, func(r rule.Description) bool { return r.Code == code })
		require.NotEqual(t, -1, i, code)
		require.NotEqual(t, advice, known[i].Advice)
	}
	zone := strings.Replace(mailZone, "p=reject", "p=none", 1)
	for _, c := range []analyzeCase{{text: spoofed + letter}, {text: spoofed + letter, zone: zone}} {
		r := analyze(t, c.world(t), c.request())
		own := r.ForSender()
		require.Equal(t, authenticateAuthor, own.Sub)
		require.Equal(t, diagtest.Codes(r.Verdict), diagtest.Codes(own.Verdict))
		for i, f := range own.Findings {
			require.NotContains(t, f.Advice, "the sender", f.Code)
			require.Equal(t, r.Findings[i].Detail, f.Detail)
		}
		for _, s := range own.View().Steps {
			require.NotContains(t, s.Text, "the sender")
		}
		require.NotEqual(t, r.Sub, own.Sub, "the report itself is as it was")
	}
}
