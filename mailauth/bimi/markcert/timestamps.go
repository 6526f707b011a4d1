package markcert

import (
	"crypto/x509"
	_ "embed"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// logsFile is the list of logs of an operator, see [diag.List] and [pki.ParseLogs]. The built-in logs, which are those
// of mark certificates, count beside it: the lists of web browsers do not have them.
const logsFile = "ct-logs.json"

//go:embed data/ct-logs.json
var logsText []byte

// BuiltInLogs returns the built-in file of logs, to be added to and used as logsFile.
func BuiltInLogs() []byte { return slices.Clone(logsText) }

var defaultLogs = sync.OnceValue(func() []pki.Log {
	logs, err := pki.ParseLogs(logsText)
	if err != nil {
		panic(err) // the list is part of the program, and a test reads it
	}
	return logs
})

// logs returns the logs of an environment. The error names the file that could not be read.
func logs(env *diag.Env) ([]pki.Log, error) {
	return diag.List(env, logsFile, defaultLogs, func(data []byte) ([]pki.Log, error) {
		logs, err := pki.ParseLogs(data)
		return append(logs, defaultLogs()...), err
	})
}

// A Timestamp is the promise of a log to publish the certificate (RFC 6962 section 3.2).
type Timestamp struct {
	Log      string    `json:"log,omitempty" doc:"name of the log; absent if it is not known" example:"DigiCert Gorgon"`
	LoggedAt time.Time `json:"logged_at,omitzero" doc:"when the log received the certificate; absent if the timestamp cannot be read"`
	Verified *bool     `json:"verified,omitempty" doc:"whether the log signed it for this certificate; absent if that could not be checked"`
}

// readTimestamps reads and verifies the timestamps in a certificate. The issuer may be nil: then none can be verified.
func readTimestamps(leaf, issuer *x509.Certificate, logs []pki.Log) (list []Timestamp, broken bool) {
	scts, err := pki.SCTs(leaf)
	for _, s := range scts {
		t := Timestamp{LoggedAt: s.Timestamp}
		if i := slices.IndexFunc(logs, func(l pki.Log) bool { return l.ID == s.LogID }); i >= 0 {
			if t.Log = logs[i].Description; issuer != nil {
				t.Verified = new(s.Verify(leaf, issuer, logs[i].Key) == nil)
			}
		}
		list = append(list, t)
	}
	return list, err != nil
}
