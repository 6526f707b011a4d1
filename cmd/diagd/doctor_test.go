package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
)

// doctor runs "diagd doctor", and returns its exit code and the condition of each part.
func doctor(t testing.TB, args ...string) (code int, conditions map[string]condition, text string) {
	t.Helper()
	var human, out, errs bytes.Buffer
	run(t.Context(), append([]string{"doctor"}, args...), &human, &human)
	code = run(t.Context(), append([]string{"doctor", "--json"}, args...), &out, &errs)
	var v doctorView
	require.NoError(t, json.Unmarshal(out.Bytes(), &v), "%s", &errs)
	conditions = map[string]condition{}
	for _, p := range v.Parts {
		conditions[p.Part] = p.Condition
		assert.NotEmpty(t, p.Detail, p.Part)
		assert.Contains(t, human.String(), p.Part)
		if p.Condition == conditionWarning || p.Condition == conditionFault {
			assert.NotEmpty(t, p.Remedy, p.Part)
			assert.Contains(t, human.String(), p.Remedy)
		}
	}
	return code, conditions, human.String()
}

// Beside a server all is well; what is missing is named, and costs the exit code only where something does not work.
func TestDoctor(t *testing.T) {
	slow := newSlowServer(t)
	close(slow.release)
	file := filepath.Join(t.TempDir(), "diag.db")
	store, resolver := "--store=sqlite:"+file, "--resolver=udp://"+slow.address
	s := start(t, store, resolver, "--metrics-listen=127.0.0.1:0")
	listen := "--listen=" + strings.TrimPrefix(s.url, "http://")
	health := s.log.wait(t, `"?serving metrics"? url=http://(\S+)/metrics`)[1]
	metrics := "--metrics-listen=" + health
	told := func() string { return get(t, "http://"+health+"/metrics").body }
	for _, unknown := range []string{"backup_age_seconds", "audit_age_seconds", "audit_faults"} {
		assert.Contains(t, told(), "\ndiagkit_"+unknown+" NaN\n")
	}
	assert.NotContains(t, told(), "diagkit_store_pool")

	code, conditions, _ := doctor(t, store, resolver, listen, metrics)
	assert.Equal(t, exitOK, code)
	delete(conditions, "lists") // a test program does not know when it was built
	want := map[string]condition{
		"settings": conditionOK, "server": conditionOK, "store": conditionOK, "clock": conditionOK, "queues": conditionOK,
		"backup": conditionWarning, "audit": conditionWarning, "certificate": conditionOff, "resolver": conditionOK,
		"hosted SPF": conditionOff, "mail": conditionOff,
	}
	assert.Equal(t, want, conditions)

	command(t, "backup", filepath.Join(t.TempDir(), "copy.db"), store)
	command(t, "audit", store)
	_, conditions, _ = doctor(t, store, resolver, listen)
	assert.Equal(t, conditionOK, conditions["backup"])
	assert.Equal(t, conditionOK, conditions["audit"])
	assert.Equal(t, conditionWarning, conditions["server"], "whether it is ready is not known")
	assert.Regexp(t, `(?m)^diagkit_backup_age_seconds [0-9]`, told())
	assert.Regexp(t, `(?m)^diagkit_audit_age_seconds [0-9]`, told())
	assert.Contains(t, told(), "\ndiagkit_audit_faults 0\n")
	late := time.Now().Add(-3 * day).UTC().Format(time.RFC3339)
	for _, c := range []struct {
		note string
		want condition
	}{{late + " 2", conditionFault}, {"yesterday", conditionUnknown}, {late + " 0", conditionWarning}} {
		require.NoError(t, os.WriteFile(file+".last-backup", []byte(c.note), 0o600))
		_, conditions, _ = doctor(t, store, resolver, listen)
		assert.Equal(t, c.want, conditions["backup"], c.note)
	}
	(&app{store: "sqlite:" + file}).recordRun(auditTask, 2)
	assert.Contains(t, told(), "\ndiagkit_audit_faults 2\n")
	command(t, "audit", store)

	require.Equal(t, exitOK, s.wait())
	code, conditions, text := doctor(t, store, "--resolver=udp://127.0.0.1:1", listen, "--ip-rate=-1")
	assert.Equal(t, exitFaults, code)
	assert.Contains(t, text, "the check found faults (3)")
	for _, part := range []string{"settings", "server", "resolver"} {
		assert.Equal(t, conditionFault, conditions[part], part)
	}
	_, conditions, _ = doctor(t, "--store=sqlite:"+file+".absent", resolver, listen)
	assert.Equal(t, conditionFault, conditions["store"])
	_, conditions, _ = doctor(t, "--store=memory:", resolver, "--listen=127.0.0.1:0")
	assert.Equal(t, conditionWarning, conditions["store"])
	assert.Equal(t, conditionUnknown, conditions["server"])
	assert.Equal(t, conditionUnknown, conditions["backup"])
	assert.Equal(t, exitUsage, run(t.Context(), []string{"doctor", "--nonsense"}, new(bytes.Buffer), new(bytes.Buffer)))
}

func TestDoctorCertificate(t *testing.T) {
	dir := t.TempDir()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	made := func(name string, life, left time.Duration) string {
		now := time.Now()
		template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"diag.example"},
			NotBefore: now.Add(left - life), NotAfter: now.Add(left)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
		require.NoError(t, err)
		text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		return filepath.Join(dir, name)
	}
	made("diag.example", 90*day, 60*day)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), []byte("no PEM"), 0o600))
	for _, c := range []struct {
		name  string
		flags serveFlags
		want  condition
		text  string
	}{
		{"good", serveFlags{tlsCert: made("good", 90*day, 60*day)}, conditionOK, "for diag.example, expires 20"},
		{"short-lived", serveFlags{tlsCert: made("short", 6*day, 4*day)}, conditionOK, ""},
		{"not renewed", serveFlags{tlsCert: made("late", 90*day, 9*day)}, conditionWarning, ""},
		{"expired", serveFlags{tlsCert: made("expired", 90*day, -day)}, conditionFault, "expired"},
		{"no file", serveFlags{tlsCert: filepath.Join(dir, "absent")}, conditionFault, "no such file"},
		{"no certificate", serveFlags{tlsCert: filepath.Join(dir, "empty")}, conditionFault, "it contains no certificate"},
		{"ACME", serveFlags{acmeDomain: "diag.example", acmeData: dir}, conditionOK, ""},
		{"ACME, none yet", serveFlags{acmeDomain: "new.example", acmeData: dir}, conditionWarning, "no certificate yet"},
		{"loopback", serveFlags{listen: "[::1]:80"}, conditionOff, ""},
		{"proxy", serveFlags{listen: ":80", trustedProxies: []string{"10.0.0.1"}}, conditionOff, ""},
		{"plain", serveFlags{listen: ":80"}, conditionWarning, "unencrypted"},
	} {
		p := (&app{serving: c.flags}).examineCertificate()
		assert.Equal(t, c.want, p.Condition, c.name)
		assert.Contains(t, p.Detail, c.text, c.name)
	}
}

// The zone of hosted SPF is looked up by public resolution.
func TestDoctorZone(t *testing.T) {
	a := &app{serving: serveFlags{hosted: hostedFlags{listen: "127.0.0.1:0", zone: "spf.example.net",
		nameservers: []string{"ns2.example.org", "NS1.example.org"}}}}
	for _, c := range []struct {
		name  string
		world func(w *diagtest.World)
		want  condition
		text  string
	}{
		{"delegated", func(w *diagtest.World) {
			w.Zone("spf.example.net. NS ns1.example.org.\nspf.example.net. NS NS2.example.org.")
		}, conditionOK, "spf.example.net is delegated to ns1.example.org, ns2.example.org"},
		{"not delegated", func(w *diagtest.World) { w.Zone("example.net. A 192.0.2.1") }, conditionFault, "is not delegated"},
		{"others", func(w *diagtest.World) { w.Zone("spf.example.net. NS ns1.example.org.") }, conditionWarning,
			"has the name servers ns1.example.org"},
		{"no answer", func(w *diagtest.World) { w.Break("spf.example.net.", dns.RcodeServerFailure) }, conditionFault, "SERVFAIL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			c.world(w)
			p := a.examineZone(t.Context(), w.Env())
			assert.Equal(t, c.want, p.Condition, p.Detail)
			assert.Contains(t, p.Detail, c.text)
			if c.want != conditionOK {
				assert.Contains(t, p.Remedy, "spf.example.net NS ns1.example.org, ns2.example.org")
			}
		})
	}
	assert.Equal(t, conditionOff, new(app).examineZone(t.Context(), diagtest.NewWorld(t).Env()).Condition)
	assert.Equal(t, conditionFault,
		(&app{serving: serveFlags{hosted: hostedFlags{listen: ":53"}}}).examineZone(t.Context(), diagtest.NewWorld(t).Env()).Condition)
}

func TestDoctorLists(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, propagation.File)
	require.NoError(t, os.WriteFile(file, []byte("[]"), 0o600))
	a := &app{data: dir}
	assert.NotEqual(t, conditionWarning, a.examineLists().Condition)
	require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(-200*day)))
	p := a.examineLists()
	assert.Equal(t, conditionWarning, p.Condition)
	assert.Equal(t, "older than 180 days: "+propagation.File, p.Detail)
}

// What has been due for long is reported, and so is a clock that is behind the store.
func TestDoctorStore(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	account, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "a", "self")
	require.NoError(t, err)
	now := time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, store.PutRecords(t.Context(), metering.Record{
		Account: account.ID, Kind: billing.InvoiceKind, ID: "2026-10", At: now, Due: now.Add(-2 * time.Hour), Body: []byte("{}"),
	}))
	a := &app{serving: serveFlags{maintenance: maintenanceFlags{biller: "file:x"}}}
	p := a.examineQueues(t.Context(), store)
	assert.Equal(t, conditionWarning, p.Condition)
	assert.Contains(t, p.Detail, "an hour: 1")
	a.serving.maintenance.biller = ""
	assert.Equal(t, conditionOK, a.examineQueues(t.Context(), store).Condition, "nobody is to charge them")

	seen := dated{store, now.Add(time.Hour)}
	assert.Equal(t, conditionFault, a.examineClock(seen).Condition)
	assert.Equal(t, conditionOK, a.examineClock(store).Condition)
}

// dated is a store that has seen an instant.
type dated struct {
	metering.Store
	newest time.Time
}

func (d dated) Newest() time.Time { return d.newest }
