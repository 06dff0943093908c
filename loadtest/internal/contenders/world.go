package contenders

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"inventory/internal/access"
	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/reconcile"
	"inventory/loadtest/internal/servers"
)

// world is what one case needs: databases of its own, what runs on them, and what the answers promise.
type world struct {
	Config
	postmaster int  // of the PostgreSQL that was started; 0: none
	redisPID   int  // of the Redis that was started; 0: none
	keys       keys // of a case over HTTP
	expected   reconcile.Expected
	audits     []auditor
	servers.Closers
}

// auditor audits one place where sales have rows.
type auditor func(ctx context.Context) (stock.Audit, error)

// answer lets the entrants of a case play until ctx ends, and audits what came of it.
func (w *world) answer(ctx context.Context, q question) (result experiment.Result, err error) {
	defer func() { err = errors.Join(err, w.Close()) }()
	if q.http {
		if err := w.issueKeys(); err != nil {
			return experiment.Result{}, err
		}
	}
	entrants, err := q.ask(ctx, w)
	if err != nil {
		return experiment.Result{}, err
	}
	rules := w.Rules(w.Scale.Window, w.Scale.Rounds)
	if q.name == mixCase && rules.Rounds > 1 {
		rules.WarmUp = rules.Window // of a thousand SKUs without orders
	}
	result = experiment.Run(ctx, w.caseOf(q, entrants), rules)
	return result, w.audit(ctx, &result, entrants)
}

// audit compares all rows with one another and with the answers, and adds the rows of each contender. An audit that cannot be
// made after ctx has ended is a finding, and no error.
func (w *world) audit(ctx context.Context, result *experiment.Result, entrants []*entrant) error {
	patience, cancel := reconcile.Patience(ctx)
	defer cancel()
	var all stock.Audit
	for _, audit := range w.audits {
		one, err := audit(patience)
		if err != nil && ctx.Err() != nil {
			result.Wrong = []string{fmt.Sprintf("no audit could be made: %v", err)}
			return nil
		}
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		all.SKUs = append(all.SKUs, one.SKUs...)
	}
	result.SKUs = len(all.SKUs)
	all.SKUs = append(all.SKUs, mixed(all))
	result.Wrong = w.expected.Against(all)
	orders := map[string]int64{}
	for _, balance := range all.SKUs {
		orders[balance.SKU] = balance.Reserved + balance.Committed - w.expected.Before(balance.SKU)
	}
	for _, e := range entrants {
		e.noteRows(result, orders)
	}
	return nil
}

// noteRows adds the rows of each round. Where all rounds sell one SKU, the first has its rows. Those of a mix are not known.
func (e *entrant) noteRows(result *experiment.Result, orders map[string]int64) {
	for i, round := range result.Rounds {
		sample := round[e.title()]
		if sample == nil || e.mix != "" {
			continue
		}
		if sample[rows] = 0; !slices.Contains(e.skus[:i], e.skus[i]) {
			sample[rows] = float64(orders[e.skus[i]])
		}
	}
}

// sqlite returns the URL of a SQLite file that is not there yet, and audits it.
func (w *world) sqlite() (string, error) {
	folder, err := w.Folder()
	if err != nil {
		return "", err
	}
	return w.audited("sqlite:" + filepath.Join(folder, "inventory.db")), nil
}

// postgres makes an empty database on the PostgreSQL server, and audits it. On a server of others it is dropped in the
// end.
func (w *world) postgres(ctx context.Context) (string, error) {
	databaseURL, drop, err := servers.CreateDatabase(ctx, w.URLs.DatabaseURL, "contenders_")
	if err != nil {
		return "", err
	}
	if w.postmaster == 0 { // a server of this run ends soon, and a drop takes a checkpoint
		w.OnClose(func() error { return drop(context.WithoutCancel(ctx)) })
	}
	return w.audited(databaseURL), nil
}

func (w *world) audited(databaseURL string) string {
	w.audits = append(w.audits, func(ctx context.Context) (stock.Audit, error) { return reconcile.Audit(ctx, databaseURL) })
	return databaseURL
}

// keys are the API keys of a case: what the lab shows to the sites it starts, which know both from a file.
type keys struct {
	file  string
	buyer string // sends orders
	admin string // puts SKUs up for sale
}

// issueKeys makes the keys of a case, and the file that lets them in.
func (w *world) issueKeys() error {
	folder, err := w.Folder()
	if err != nil {
		return err
	}
	w.keys.file = filepath.Join(folder, "keys")
	buyer, buyerLine, err := access.NewKey("shop", access.ScopeBuyer)
	admin, adminLine, err2 := access.NewKey("lab", access.ScopeAdmin)
	w.keys.buyer, w.keys.admin = buyer, admin
	if err = errors.Join(err, err2); err == nil {
		err = os.WriteFile(w.keys.file, []byte(buyerLine+"\n"+adminLine+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("issue API keys: %w", err)
	}
	return nil
}
