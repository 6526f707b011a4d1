package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/diagkit/diagkit/cmd/internal/buildinfo"
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/hostedspf/nameserver"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/phishing"
	"github.com/diagkit/diagkit/webcheck/tlscert"
)

const (
	day = 24 * time.Hour
	// backupAge and auditAge are how old the last backup and audit may be.
	backupAge = 2 * day
	auditAge  = 35 * day // once in each month
	// listAge is how old a list may be before it is worth fetching anew.
	listAge = 180 * day
	// minCertificateTime is how long before its end a certificate should have been renewed: of those that are valid for
	// 45 days or more, clients do so with a third of the time left.
	minCertificateTime = 10 * day
	// maxDueNotifications is how many notifications may wait: the threshold of their alert.
	maxDueNotifications = 1000
	// maxPaymentDelay is for how long payments may be due.
	maxPaymentDelay = time.Hour
)

// examineQueues counts what should have been done by now.
func (a *app) examineQueues(ctx context.Context, store metering.Store) partView {
	notes, err := (&notify.Worker{Store: store}).Waiting(ctx, maxCounted)
	payments, failure := countDuePayments(ctx, store, time.Now().Add(-maxPaymentDelay))
	switch err = errors.Join(err, failure); {
	case err != nil:
		return faultyPart(conditionUnknown, "", "counting: %v", err)
	case notes > maxDueNotifications:
		return faultyPart(conditionWarning, "run diagd channel deliveries to see why", "notifications due: %d", notes)
	case payments > 0 && a.serving.maintenance.biller != "":
		return faultyPart(conditionWarning, "run diagd billing invoices, and see the log",
			"invoices due for more than an hour: %d", payments)
	}
	return okPart("notifications due: %d, invoices due for more than an hour: %d", notes, payments)
}

// A task is one that should be done regularly.
type task string

const (
	backupTask task = "last-backup"
	auditTask  task = "last-audit"
)

// runFile is the file next to a SQLite store that records the last run; empty for other stores.
func (a *app) runFile(d task) string {
	if kind, place, err := a.parseStore(); err == nil && kind == "sqlite" {
		return place + "." + string(d)
	}
	return ""
}

// recordRun records the run, and how many faults it found. Without permission to write next to the store there is no
// record, and the server and diagd doctor then know of none.
func (a *app) recordRun(d task, faults int) {
	if path := a.runFile(d); path != "" {
		_ = os.WriteFile(path, fmt.Appendf(nil, "%s %d\n", time.Now().UTC().Format(time.RFC3339), faults), 0o600)
	}
}

func (a *app) lastRun(d task) (at time.Time, faults int, err error) {
	text, err := os.ReadFile(a.runFile(d))
	if err != nil {
		return at, 0, err
	}
	stamp, count, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if at, err = time.Parse(time.RFC3339, stamp); err == nil {
		faults, err = strconv.Atoi(count)
	}
	return at, faults, err
}

func (a *app) exportTaskMetrics(counters *metrics.Metrics) {
	if a.runFile(backupTask) == "" {
		return
	}
	register := func(g metrics.Gauge, d task, value func(at time.Time, faults int) float64) {
		counters.GaugeFunc(g, func() float64 {
			at, faults, err := a.lastRun(d)
			if err != nil {
				return math.NaN()
			}
			return value(at, faults)
		})
	}
	age := func(at time.Time, _ int) float64 { return time.Since(at).Seconds() }
	register(metrics.BackupAge, backupTask, age)
	register(metrics.AuditAge, auditTask, age)
	register(metrics.AuditFaults, auditTask, func(_ time.Time, faults int) float64 { return float64(faults) })
}

func (a *app) examineTask(d task, maxAge time.Duration, remedy string) partView {
	path := a.runFile(d)
	if path == "" {
		return faultyPart(conditionUnknown, "", "not recorded for this kind of store")
	}
	at, faults, err := a.lastRun(d)
	switch age := time.Since(at); {
	case os.IsNotExist(err):
		return faultyPart(conditionWarning, remedy, "not recorded yet")
	case err != nil:
		return faultyPart(conditionUnknown, "", "%s cannot be read", path)
	case faults > 0:
		return faultyPart(conditionFault, "run diagd audit to see them",
			"faults found by the last one, at %s: %d", formatTime(&at), faults)
	case age > maxAge:
		return faultyPart(conditionWarning, remedy, "the last one was %d days ago", int(age/day))
	}
	return okPart("the last one was at %s, and found no faults", formatTime(&at))
}

func (a *app) examineCertificate() partView {
	path, remedy := a.serving.tlsCert, "renew it, and find out why automatic renewal failed"
	switch {
	case a.serving.acmeDomain != "":
		path = filepath.Join(a.serving.acmeData, a.serving.acmeDomain)
		remedy = "check the log to find out why it was not renewed"
	case path == "":
		host, _, _ := net.SplitHostPort(a.serving.listen)
		ip, err := netip.ParseAddr(host)
		if host == "localhost" || err == nil && ip.IsLoopback() || len(a.serving.trustedProxies) > 0 {
			return offPart("plain HTTP, behind a proxy or for this machine")
		}
		return faultyPart(conditionWarning, "set --tls-cert or --acme-domain, or name the proxy with --trusted-proxies",
			"plain HTTP on %s: API keys are sent unencrypted", a.serving.listen)
	}
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) && a.serving.acmeDomain != "" {
		return faultyPart(conditionWarning, "it is obtained on the first connection: open https://"+a.serving.acmeDomain,
			"no certificate yet")
	}
	cert, err := firstCertificate(text, err)
	if err != nil {
		return faultyPart(conditionFault, "put the certificate chain there in PEM, the server's certificate first",
			"%s: %v", path, err)
	}
	left := time.Until(cert.NotAfter)
	detail := fmt.Sprintf("for %s, expires %s", strings.Join(cert.DNSNames, ", "), formatTime(&cert.NotAfter))
	switch {
	case left < 0:
		return faultyPart(conditionFault, remedy, "%s: expired", detail)
	case left < minCertificateTime && left < cert.NotAfter.Sub(cert.NotBefore)/4:
		return faultyPart(conditionWarning, remedy, "%s", detail)
	}
	return okPart("%s", detail)
}

func firstCertificate(text []byte, err error) (*x509.Certificate, error) {
	for err == nil {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil, fmt.Errorf("it contains no certificate")
		}
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, err
}

// agingLists are those that the world changes.
var agingLists = []string{
	dnsbl.File, hsts.File, markcert.RootsFile, propagation.File, tlscert.LogsFile, phishing.TargetsFile, registry.BootstrapFile,
	registry.ServersFile,
}

// examineLists reports the age of the lists in force: built-in ones are as old as the program.
func (a *app) examineLists() partView {
	var old []string
	built := buildinfo.Read().Time
	for _, name := range agingLists {
		at := built
		if a.data != "" {
			if info, err := os.Stat(filepath.Join(a.data, name)); err == nil {
				at = new(info.ModTime())
			}
		}
		if at != nil && time.Since(*at) > listAge {
			old = append(old, name)
		}
	}
	switch {
	case len(old) > 0:
		return faultyPart(conditionWarning, "put newer files into the folder of --data, or upgrade diagd",
			"older than %d days: %s", int(listAge/day), strings.Join(old, ", "))
	case built == nil:
		return faultyPart(conditionUnknown, "", "the build date of this program is unknown")
	}
	return okPart("all are newer than %d days; the built-in ones are from %s", int(listAge/day), formatTime(built))
}

// examineZone checks in the DNS whether the zone of hosted SPF is delegated to the name servers of the settings, and
// whether they answer.
func (a *app) examineZone(ctx context.Context, env *diag.Env) partView {
	zone, err := a.serving.hosted.serveZone()
	switch {
	case err != nil:
		return faultyPart(conditionFault, "run diagd config check", "%v", err)
	case zone == nil:
		return offPart("no zone is served")
	}
	name := zone.Zone.Name
	want := hostNames(zone.Zone.Nameservers, func(n nameserver.Nameserver) string { return n.Name.String() })
	remedy := fmt.Sprintf("publish %s NS %s in the parent zone", name, strings.Join(want, ", "))
	ns := diag.Lookup[*dns.NS](ctx, env, name.String())
	if err := ns.Err(); err != nil {
		return faultyPart(conditionFault, remedy+", and make them reachable on port 53", "%s: %v", name, err)
	}
	if !ns.Exists() {
		return faultyPart(conditionFault, remedy, "%s is not delegated", name)
	}
	have := hostNames(ns.Records, func(r *dns.NS) string { return strings.TrimSuffix(r.Ns, ".") })
	if !slices.Equal(have, want) {
		return faultyPart(conditionWarning, remedy, "%s has the name servers %s", name, strings.Join(have, ", "))
	}
	return okPart("%s is delegated to %s, and answers", name, strings.Join(have, ", "))
}

func hostNames[T any](list []T, name func(T) string) []string {
	names := kit.Map(list, func(v T) string { return strings.ToLower(name(v)) })
	slices.Sort(names)
	return names
}
