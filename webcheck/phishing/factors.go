package phishing

import "github.com/diagkit/diagkit/diag"

// The categories of signals, in the order in which they are examined (CONTRACT 3.4).
var (
	ofURL          = diag.Category{Code: "url", Label: "URL"}
	ofHost         = diag.Category{Code: "host", Label: "Host"}
	ofTLS          = diag.Category{Code: "tls", Label: "TLS"}
	ofContent      = diag.Category{Code: "content", Label: "Content"}
	ofRegistration = diag.Category{Code: "registration", Label: "Registration"}
	ofReputation   = diag.Category{Code: "reputation", Label: "Reputation"}
)
