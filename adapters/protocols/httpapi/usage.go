package httpapi

import (
	"encoding/csv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

// usageReport is the body of a report.
type usageReport struct {
	From string     `json:"from"`
	To   string     `json:"to"`
	Rows []usageRow `json:"rows"`
}

// figure is a measured amount and an estimated one.
type figure struct {
	Metered   float64 `json:"metered"`
	Estimated float64 `json:"estimated"`
}

// hundredths are a figure of core.Spent.
func hundredths(metered, estimated int64) figure {
	return figure{float64(metered) / 100, float64(estimated) / 100}
}

// usageRow is a row of a report. It has those of the first seven that the report groups by.
type usageRow struct {
	Day            *string    `json:"day,omitempty"`
	User           *string    `json:"user,omitempty"`
	Agent          *string    `json:"agent,omitempty"`
	Run            *string    `json:"run,omitempty"`
	Root           *string    `json:"root,omitempty"`
	Provider       *string    `json:"provider,omitempty"`
	Model          *string    `json:"model,omitempty"`
	Runs           int        `json:"runs"`
	Stretches      int        `json:"stretches"`
	Incomplete     int        `json:"incomplete"`
	Tokens         usedTokens `json:"tokens"`
	Inferences     int        `json:"inferences"`
	ModelMillis    int64      `json:"model_ms"`
	ToolCalls      int        `json:"tool_calls"`
	ToolMillis     int64      `json:"tool_ms"`
	HandlerMillis  figure     `json:"handler_ms"`
	WriteUnits     figure     `json:"write_units"`
	ReadUnits      figure     `json:"read_units"`
	QueueRequests  figure     `json:"queue_requests"`
	ModelCost      *core.USD  `json:"model_cost_usd"` // null: the price of a model is unknown
	UnpricedModels []string   `json:"unpriced_models"`
	CloudCost      *core.USD  `json:"cloud_cost_usd"` // null: the costs of the cloud are unknown
}

// usedTokens are counts of tokens, which a row always has.
type usedTokens struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Reasoning  int `json:"reasoning"`
}

// getUsage reports the caller's usage. For a caller without a user, and for one of
// UsageReaders, it reports the usage of all users of the tenant.
func (a *api) getUsage(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	q, asCSV, err := usageQuery(r)
	if err != nil {
		return err
	}
	q.Tenant, q.OnlyUser, q.User = id.Tenant, !a.readsUsage(id), id.User
	rows, err := a.Host.Report(r.Context(), q)
	if err != nil {
		return err
	}
	report := usageReport{From: q.From.Format(time.DateOnly), To: q.To.Format(time.DateOnly), Rows: make([]usageRow, 0, len(rows))}
	for i := range rows {
		report.Rows = append(report.Rows, wireRow(&rows[i], q.By))
	}
	if !asCSV {
		protocol.JSON(w, http.StatusOK, report)
		return nil
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="usage-`+report.From+`-`+report.To+`.csv"`)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeUsage(csv.NewWriter(w), report.Rows, q.By)
	return nil
}

// readsUsage reports whether the caller is shown what the whole tenant has used.
func (a *api) readsUsage(id core.Identity) bool {
	return id.User == "" || slices.Contains(a.options.UsageReaders, id.User) || slices.Contains(a.options.UsageReaders, "*")
}

func usageQuery(r *http.Request) (q account.Query, asCSV bool, err error) {
	values, err := query(r.URL.RawQuery, "from", "to", "by", "format")
	if err != nil {
		return q, false, err
	}
	for name, to := range map[string]*time.Time{"from": &q.From, "to": &q.To} {
		if *to, err = time.Parse(time.DateOnly, values.Get(name)); err != nil {
			return q, false, core.Errorf(core.CodeInvalid, "from %q and to %q: want two days, as 2026-01-31", core.Excerpt(values.Get("from")), core.Excerpt(values.Get("to")))
		}
	}
	by := "day"
	if values.Has("by") {
		by = values.Get("by")
	}
	if err = q.By.UnmarshalText([]byte(by)); err != nil {
		return q, false, err
	}
	switch format := values.Get("format"); format {
	case "csv":
		asCSV = true
	case "":
		asCSV = strings.Contains(r.Header.Get("Accept"), "text/csv")
	case "json":
	default:
		return q, false, core.Errorf(core.CodeInvalid, "format %q is unknown, allowed are json and csv", core.Excerpt(format))
	}
	return q, asCSV, q.Check()
}

func tokensOf(u core.Usage) usedTokens {
	return usedTokens{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning}
}

func wireRow(r *account.Row, by account.By) usageRow {
	row := usageRow{
		Runs: r.Runs, Stretches: r.Stretches, Incomplete: r.Lost, Tokens: tokensOf(r.Tokens), Inferences: r.Inferences, ModelMillis: r.ModelMillis,
		ToolCalls: r.Tools, ToolMillis: r.ToolMillis, HandlerMillis: figure{Metered: float64(r.Spent.Handler)},
		WriteUnits: hundredths(r.Spent.Write, r.Spent.WriteMore), ReadUnits: hundredths(r.Spent.Read, 0),
		QueueRequests: hundredths(r.Spent.Queue, r.Spent.QueueMore), ModelCost: r.ModelCost, CloudCost: r.CloudCost, UnpricedModels: []string{},
	}
	row.UnpricedModels = append(row.UnpricedModels, r.Unpriced...)
	if by.Day {
		row.Day = &r.Day
	}
	if by.User {
		row.User = &r.User
	}
	if by.Agent {
		row.Agent = &r.Agent
	}
	if by.Run {
		row.Run = &r.Run
	}
	if by.Root {
		row.Root = &r.Root
	}
	if by.Model {
		row.Provider, row.Model = &r.Provider, &r.Model
	}
	return row
}

// writeUsage writes the rows for a spreadsheet.
func writeUsage(w *csv.Writer, rows []usageRow, by account.By) {
	var header []string
	names := func(by bool, names ...string) {
		if by {
			header = append(header, names...)
		}
	}
	names(by.Day, "day")
	names(by.User, "user")
	names(by.Agent, "agent")
	names(by.Run, "run")
	names(by.Root, "root")
	names(by.Model, "provider", "model")
	names(true, "runs", "stretches", "incomplete", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens",
		"inferences", "model_ms", "tool_calls", "tool_ms", "handler_ms_metered", "write_units_metered", "write_units_estimated", "read_units_metered",
		"queue_requests_metered", "queue_requests_estimated", "model_cost_usd", "unpriced_models", "cloud_cost_usd")
	_ = w.Write(header) // a client that is gone needs nothing
	for _, r := range rows {
		var cells []string
		for _, name := range []*string{r.Day, r.User, r.Agent, r.Run, r.Root, r.Provider, r.Model} {
			if name != nil {
				cells = append(cells, harmless(*name))
			}
		}
		for _, n := range []int64{int64(r.Runs), int64(r.Stretches), int64(r.Incomplete), int64(r.Tokens.Input), int64(r.Tokens.Output), int64(r.Tokens.CacheRead),
			int64(r.Tokens.CacheWrite), int64(r.Tokens.Reasoning), int64(r.Inferences), r.ModelMillis, int64(r.ToolCalls), r.ToolMillis} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		for _, n := range []float64{r.HandlerMillis.Metered, r.WriteUnits.Metered, r.WriteUnits.Estimated, r.ReadUnits.Metered, r.QueueRequests.Metered, r.QueueRequests.Estimated} {
			cells = append(cells, strconv.FormatFloat(n, 'f', -1, 64))
		}
		_ = w.Write(append(cells, amount(r.ModelCost), harmless(strings.Join(r.UnpricedModels, " ")), amount(r.CloudCost)))
	}
	w.Flush()
}

// amount is empty when it is not known.
func amount(a *core.USD) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// harmless keeps a spreadsheet from taking a name for a formula.
func harmless(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
