package metering

import "time"

// AccountID names an account: "acc_" and 26 characters of lower-case base32.
type AccountID string

// KeyID names an API key: "key_" and 26 characters of lower-case base32.
type KeyID string

// An Account owns keys and pays for what they use. Credits belong to the account, rate limits to the key.
type Account struct {
	ID      AccountID
	Version int64 // 0 for an account that was never stored
	Name    string
	Plan    PlanID
	// OverageEnabled lets the account go beyond its allowance where the plan sells that.
	OverageEnabled bool
	// OverageBudgetCents caps what overage may cost in a month, in minor units of the plan's
	// currency. Nil means no cap; 0 means that no overage is allowed.
	OverageBudgetCents *int64

	CreatedAt time.Time
}
