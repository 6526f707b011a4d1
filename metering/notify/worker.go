package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const (
	// attemptTime bounds an attempt, from the first lookup to the last byte of the answer (CONTRACT 7).
	attemptTime = 10 * time.Second
	// lease is how long a delivery is reserved for one worker: well above attemptTime and the latency of a store. A
	// node without a result by then is considered dead.
	lease = time.Minute
	// The defaults of a [Worker].
	defaultPerChannel = 4
	pollInterval      = time.Second // between polls of the store
	maxPause          = time.Second // after a poll
	// storeTime bounds the wait for a store to save the result of an attempt.
	storeTime = 15 * time.Second
	// maxEvents bounds how many events are read at a time.
	maxEvents = 64
)

// defaultRunning bounds the attempts that run at once, and accountRunning those of one account.
var (
	defaultRunning = int(budget.Of(budget.Deliveries).All)
	accountRunning = int(budget.Of(budget.Deliveries).Account)
)

// A Worker turns events into deliveries, and delivers them. Any number of workers may share a store, on one node or
// several: the first to change a record claims it. Only Store and Client are required.
type Worker struct {
	Store metering.Store
	// Client sends to webhooks, Slack, Teams and Telegram. It must dial through a guard: channels name any host. Its
	// CheckRedirect, Jar and Timeout are not used.
	Client *http.Client
	// Mail is the operator's submission server. Without one, mail channels receive nothing.
	Mail *MailServer

	Clock      func() time.Time // nil means time.Now
	Log        *slog.Logger     // nil disables logging
	Running    int              // attempts at once; 0 means 64; an account has a quarter of them
	PerChannel int              // attempts at once to one channel; 0 means 4
	// Observe, if set, is called after each attempt, for metrics. It must not block.
	Observe func(Kind, DeliveryState)

	once      sync.Once
	worker    metering.Worker
	log       *slog.Logger
	client    *http.Client
	mu        sync.Mutex
	byChannel map[string]int             // running attempts
	byAccount map[metering.AccountID]int // running attempts
	failing   map[string]bool            // channels whose last attempt failed
	running   map[string]bool            // deliveries that have an attempt running here
}

func (w *Worker) init() {
	w.once.Do(func() {
		if w.Store == nil || w.Client == nil {
			panic("notify: Worker.Store or Worker.Client is nil")
		}
		w.byChannel, w.byAccount = map[string]int{}, map[metering.AccountID]int{}
		w.running, w.failing = map[string]bool{}, map[string]bool{}
		w.log = cmp.Or(w.Log, slog.New(slog.DiscardHandler))
		w.worker = metering.Worker{
			Start: w.start, Kind: "notifications", Interval: pollInterval, MaxPause: maxPause, Log: w.log,
		}
		w.client = &http.Client{
			Transport:     w.Client.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
}

// Wake signals the worker that a delivery may be due. It does not block.
func (w *Worker) Wake() {
	w.init()
	w.worker.Wake()
}

// Run delivers until the context ends. It then starts nothing new, waits for running attempts, which takes no longer
// than 10 seconds and a moment for the store, and returns the context's error. A failure of the store is logged and
// retried.
func (w *Worker) Run(ctx context.Context) error {
	w.init()
	return w.worker.Run(ctx)
}

// Flush delivers all due deliveries, and returns when none is left: for short-lived programs. The error is the
// store's, or the context's.
func (w *Worker) Flush(ctx context.Context) error {
	w.init()
	return w.worker.Flush(ctx)
}

// start writes deliveries of new events, and starts due deliveries as far as there is room. It returns how many it
// started. An attempt goes on where the context ends.
func (w *Worker) start(ctx, _ context.Context) (started int, err error) {
	started, err = w.fanOut(ctx)
	if err != nil {
		return started, err
	}
	due, err := w.due(ctx)
	for _, d := range due {
		w.worker.Go(func() error {
			defer w.release(d)
			return w.deliver(context.WithoutCancel(ctx), d)
		})
	}
	return started + len(due), err
}

// fanOut makes deliveries of the events that are due: in one transaction with the change that makes the event
// due no more, so that each is fanned out once.
func (w *Worker) fanOut(ctx context.Context) (count int, err error) {
	f := metering.RecordFilter{Kind: metering.EventKind, DueBy: metering.Now(w.Clock), Limit: maxEvents}
	events, err := metering.Collect(w.Store.Records(ctx, f))
	if err != nil {
		return 0, fmt.Errorf("listing events: %w", err)
	}
	room := map[metering.AccountID]int{}
	for _, r := range events {
		records, err := w.outgoing(ctx, r, room)
		if err == nil {
			err = w.Store.PutRecords(ctx, records...)
		}
		switch {
		case errors.Is(err, metering.ErrVersion): // another worker was first
		case err != nil:
			return count, fmt.Errorf("sending event %s: %w", r.ID, err)
		}
		count++
	}
	if count == maxEvents {
		w.Wake() // there may be more
	}
	return count, nil
}

// queueFull is why a delivery is not tried: its account has too many that wait. It can be replayed.
const queueFull = "too many deliveries of the account wait for an attempt; replay this one later"

// outgoing is an event that is due no more, and its deliveries: as many as the account has room for, and the others as
// not delivered. Room has how many more may wait, of the accounts that were looked at.
func (w *Worker) outgoing(
	ctx context.Context, r metering.Record, room map[metering.AccountID]int,
) ([]metering.Record, error) {
	r.Due = time.Time{}
	list := []metering.Record{r}
	event, err := metering.ParseEvent(r)
	if err != nil || !event.Type.Known() {
		w.log.Error("an event cannot be read, and is not sent", "event", r.ID, "type", event.Type, "error", err)
		return list, nil
	}
	channels, err := channelsOf(ctx, w.Store, r.Account)
	if err != nil {
		return nil, err
	}
	if _, known := room[r.Account]; !known && len(channels) > 0 {
		if room[r.Account], err = queueRoom(ctx, w.Store, r.Account, metering.Now(w.Clock)); err != nil {
			return nil, err
		}
	}
	for _, c := range channels {
		if !c.receives(event) || len(list) == metering.MaxRecordsPut {
			continue
		}
		at := metering.Now(w.Clock)
		d := newDelivery(event, c.record.ID, at)
		if room[r.Account]--; room[r.Account] < 0 {
			d.State, d.Next = FailedExhausted, time.Time{}
			d.Attempts = []Attempt{{At: at, Ended: true, Error: queueFull}}
		}
		list = append(list, d.record(0))
	}
	return list, nil
}

// maxQueue bounds the deliveries of an account that wait for an attempt.
var maxQueue = int(budget.Of(budget.Queue).Account)

// queueRoom returns how many more deliveries of an account may be queued.
func queueRoom(
	ctx context.Context, store metering.Records, account metering.AccountID, now time.Time,
) (room int, err error) {
	const last = 7 * 24 * time.Hour // no attempt is due so late
	room = maxQueue
	f := metering.RecordFilter{Kind: deliveryKind, Account: account, DueBy: now.Add(last), Limit: maxQueue}
	for _, err := range store.Records(ctx, f) {
		if err != nil {
			return 0, fmt.Errorf("counting deliveries that wait: %w", err)
		}
		room--
	}
	return room, nil
}

// A dueDelivery is a delivery with a slot for an attempt.
type dueDelivery struct {
	*Delivery
	version int64
}

// due picks the deliveries for which there is room. Those of a slow channel stay in the queue: the others are read
// past them.
func (w *Worker) due(ctx context.Context) (list []dueDelivery, err error) {
	for r, err := range w.Store.Records(ctx, metering.RecordFilter{Kind: deliveryKind, DueBy: metering.Now(w.Clock)}) {
		if err != nil {
			return list, fmt.Errorf("listing deliveries: %w", err)
		}
		d, err := readDelivery(r)
		if err != nil {
			w.log.Error("a delivery cannot be read, and is not sent", "delivery", r.ID, "error", err)
			continue
		}
		reserved, full := w.reserve(d)
		if reserved {
			list = append(list, dueDelivery{d, r.Version})
		}
		if full {
			break
		}
	}
	return list, nil
}

// reserve reserves a slot for an attempt, if one is free, and reports whether no further slot is free. The second half
// of the slots, and of those of an account, is for channels that work and have no attempt running, so that unresponsive
// ones do not take all.
func (w *Worker) reserve(d *Delivery) (reserved, full bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit, perChannel := cmp.Or(w.Running, defaultRunning), cmp.Or(w.PerChannel, defaultPerChannel)
	perAccount := max(perChannel, limit*accountRunning/defaultRunning)
	if len(w.running) >= (limit+1)/2 || w.byAccount[d.Account] >= (perAccount+1)/2 {
		if perChannel = 1; w.failing[d.Channel] {
			perChannel = 0
		}
	}
	if len(w.running) < limit && !w.running[d.ID] && w.byChannel[d.Channel] < perChannel &&
		w.byAccount[d.Account] < perAccount {
		w.running[d.ID], reserved = true, true
		w.byChannel[d.Channel]++
		w.byAccount[d.Account]++
	}
	return reserved, len(w.running) >= limit
}

// release frees the slot of an attempt.
func (w *Worker) release(d dueDelivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, d.ID)
	if w.byChannel[d.Channel]--; w.byChannel[d.Channel] == 0 {
		delete(w.byChannel, d.Channel)
	}
	if w.byAccount[d.Account]--; w.byAccount[d.Account] == 0 {
		delete(w.byAccount, d.Account)
	}
}

// setWorking remembers whether a channel works.
func (w *Worker) setWorking(channel string, works bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if works {
		delete(w.failing, channel)
	} else {
		w.failing[channel] = true
	}
}

// Waiting counts the deliveries that are due, up to a limit.
func (w *Worker) Waiting(ctx context.Context, limit int) (count int, err error) {
	f := metering.RecordFilter{Kind: deliveryKind, DueBy: metering.Now(w.Clock), Limit: limit}
	for _, err := range w.Store.Records(ctx, f) {
		if err != nil {
			return 0, err
		}
		count++
	}
	return count, nil
}
