package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
)

// A new key is for its owner alone, is never overwritten, has a record without a fault, and its flags are taken.
func TestMailKey(t *testing.T) {
	for _, kind := range []string{"", "--ed25519"} {
		file := filepath.Join(t.TempDir(), "key.pem")
		args := []string{"mail", "key", "--mail-dkim-domain=Example.org", "--mail-dkim-key=" + file}
		if kind != "" {
			args = append(args, kind)
		}
		v := parsed[mailKeyView](t, args...)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		require.Equal(t, "diagd._domainkey.example.org", v.Name)
		for _, text := range []string{v.Record, v.Line} {
			r, err := dkim.Validate(dkim.ValidateRequest{Record: text})
			require.NoError(t, err)
			require.Equal(t, diag.Valid, r.State, text)
			require.Empty(t, grave(r.Findings), text)
		}
		for part := range strings.SplitSeq(v.Line, `" "`) {
			require.Less(t, len(part), 300)
		}
		before, err := os.ReadFile(file)
		require.NoError(t, err)
		var out, errs bytes.Buffer
		require.Equal(t, exitUsage, run(t.Context(), args, &out, &errs))
		require.Contains(t, errs.String(), "never overwritten")
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, before, after)

		f := dkimFlags{nth(v.Flags, 1), nth(v.Flags, 3), nth(v.Flags, 5)}
		signer, err := f.signer("diagd@mail.example.org")
		require.NoError(t, err)
		record, err := signer.Record()
		require.NoError(t, err)
		require.Equal(t, v.Record, record)

		a := &app{}
		a.serving.mail = mailFlags{server: "submissions://mail.example.org", from: "diagd@example.org"}
		world := func(zone string) *diag.Env {
			w := diagtest.NewWorld(t)
			w.Zone(zone)
			return w.Env()
		}
		require.Equal(t, conditionWarning, a.examineMail(t.Context(), world("")).Condition, "nothing is signed")
		a.serving.mail.dkim = f
		require.Equal(t, conditionOK, a.examineMail(t.Context(), world(v.Line)).Condition)
		p := a.examineMail(t.Context(), world("example.org. A 192.0.2.1"))
		require.Equal(t, conditionFault, p.Condition)
		require.Contains(t, p.Remedy, v.Line)
		p = a.examineMail(t.Context(), world(`diagd._domainkey.example.org. TXT "v=DKIM1; p="`))
		require.Equal(t, conditionFault, p.Condition)
	}
}

// grave leaves out what could be better, and need not be.
func grave(findings []diag.Finding) (list []diag.Code) {
	for _, f := range findings {
		if f.Severity > diag.Info {
			list = append(list, f.Code)
		}
	}
	return list
}

func nth(flags string, n int) string { return strings.Fields(flags)[n] }

// Settings that would sign nothing, or what DMARC does not count, are refused.
func TestMailFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(file, []byte("no key"), 0o600))
	for _, tt := range []struct {
		flags dkimFlags
		want  string
	}{
		{dkimFlags{domain: "example.org"}, "must be set together"},
		{dkimFlags{"a b", "s", file}, "--mail-dkim-domain"},
		{dkimFlags{"example.org", "a b", file}, "--mail-dkim-selector"},
		{dkimFlags{"example.com", "s", file}, "different organizations"},
		{dkimFlags{"example.org", "s", file + ".absent"}, "--mail-dkim-key"},
		{dkimFlags{"example.org", "s", file}, "no PEM block"},
	} {
		_, err := tt.flags.signer("diagd@example.org")
		require.ErrorContains(t, err, tt.want)
	}
	for _, f := range []letterboxFlags{{listen: ":25"}, {domain: "box.example"}, {":25", "a b"}} {
		_, err := f.parse()
		require.ErrorContains(t, err, "--letterbox-")
	}
}
