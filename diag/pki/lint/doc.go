// Package lint holds the certificates of TLS servers to RFC 5280 and to the Baseline Requirements of
// the CA/Browser Forum. Call [Server] with the chain as the server sent it:
//
//	v := pki.Verifier{Roots: env.Roots, ServerName: name, Now: env.Now()}
//	path, faults := lint.Server(state.PeerCertificates, v, lint.WebPKI, nil)
//	for _, f := range faults {
//		fmt.Println(f.ID, f.Detail, f.Reference)
//	}
//
// # Why another look at a chain
//
// [pki.Verifier] says whether Go's TLS client, and so most programs, accept a chain. Clients differ: a certificate
// whose serial number is zero, whose authority key identifier is missing or whose name constraints are written with a
// leading period passes in one and fails in the next, and public authorities have had to revoke such certificates
// within days. This package therefore follows the rules to the letter: RFC 5280 says what a certificate and a path may
// look like, and where the Baseline Requirements are stricter or, as for name constraints that are not critical, more
// lenient, they win, since they are what browsers hold public authorities to.
//
// # How it works
//
// Paths are built from the certificates that were sent, by names and signatures, up to a trusted
// root. Each path is held to the rules, and the one with the fewest faults is returned: clients build
// paths too, and a server whose certificates allow one good path works. What decides is a table of rules for
// single certificates, and beside it those of the path: validity, path length, purposes, name
// constraints, the name of the server, and revocation lists if there are any at hand.
package lint
