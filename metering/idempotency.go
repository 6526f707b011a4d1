package metering

import "time"

const (
	// ClaimLease is how long a claim on an idempotency key outlives a silent owner.
	ClaimLease = 2 * time.Minute

	// ReplayWindow is how long a kept reply is replayed, from its completion; at that very instant
	// it is gone.
	ReplayWindow = 24 * time.Hour

	// MaxReplyBytes bounds a kept body. A larger reply is charged and sent, but not kept.
	MaxReplyBytes = 8 << 20
)
