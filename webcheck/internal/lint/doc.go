// Package lint checks the certificates of TLS servers against RFC 5280 and the Baseline Requirements of the
// CA/Browser Forum: call [Server] with the chain as the server sent it.
//
//	v := pki.Verifier{Roots: env.Roots, ServerName: name, Now: env.Now()}
//	path, faults := lint.Server(state.PeerCertificates, v, lint.WebPKI, nil)
//	for _, f := range faults {
//		fmt.Println(f.ID, f.Detail, f.Reference)
//	}
//
// # Why chains are checked again
//
// [pki.Verifier] says whether Go's TLS client, and so most programs, accept a chain. Clients differ: a certificate
// with serial number zero, without an authority key identifier or with a leading period in a name constraint passes
// in one client and fails in another, and public authorities have had to revoke such certificates within days. This
// package therefore follows RFC 5280 to the letter. Where the Baseline Requirements are stricter or, as for
// non-critical name constraints, more lenient, they take precedence, since browsers hold public authorities to them.
//
// # How it works
//
// Paths are built from the certificates sent, by name and signature, up to a trusted root. Each path is checked, and
// the one with the fewest faults is returned: clients build paths too, and one valid path is enough. A table has the
// rules for single certificates; those for paths cover validity, path length, key purposes, name constraints, the
// server name and, where available, revocation lists.
package lint
