package classroom

import (
	"cmp"
	"embed"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httputil"

	"inventory/internal/api"
)

//go:embed web
var web embed.FS

// maxBody is more bytes than any request of the page has.
const maxBody = 1 << 10

// Handler serves the classroom, and passes all other requests to one of its services. It is for a listener on loopback:
// any caller may do everything.
func (s *School) Handler() http.Handler {
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // a mistake in this file
	}
	page := func(w http.ResponseWriter, r *http.Request) {
		api.GuardPage(w.Header())
		http.ServeFileFS(w, r, files, cmp.Or(r.PathValue("file"), "classroom.html"))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/classroom", http.StatusTemporaryRedirect))
	mux.HandleFunc("GET /classroom", page)
	mux.HandleFunc("GET /classroom/{file}", page)
	mux.HandleFunc("GET /classroom/state", func(w http.ResponseWriter, _ *http.Request) { s.answer(w, http.StatusOK, s.state()) })
	mux.HandleFunc("POST /classroom/sale", command(s, s.start))
	mux.HandleFunc("POST /classroom/stop", command(s, func(struct{}) error { s.stop(); return nil }))
	mux.HandleFunc("POST /classroom/house", command(s, s.build))
	mux.HandleFunc("POST /classroom/break", command(s, func(b breakRequest) error { return s.breakIt(b.Name, b.Process, b.Broken) }))
	mux.HandleFunc("GET /console/settings.json", func(w http.ResponseWriter, _ *http.Request) {
		s.answer(w, http.StatusOK, map[string]bool{"keys": false, "classroom": true})
	})
	mux.Handle("/", s.proxy())
	return api.NewHosts().OnThisMachine(mux)
}

// breakRequest starts or ends a fault. Process counts from 0.
type breakRequest struct {
	Name    string `json:"name"`
	Process int    `json:"process"`
	Broken  bool   `json:"broken"`
}

// command returns a handler that carries out a command and answers with the state afterwards.
func command[T any](s *School, do func(T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked T
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&asked)
		if err == nil {
			s.doing.Lock()
			err = do(asked)
			s.doing.Unlock()
		}
		if err != nil {
			s.answer(w, http.StatusBadRequest, map[string]string{"detail": err.Error()})
			return
		}
		s.answer(w, http.StatusOK, s.state())
	}
}

func (s *School) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.config.Logger.Debug("an answer was not sent", "error", err)
	}
}

// proxy passes requests on to a service.
func (s *School) proxy() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(s.current().target().url)
			r.Out.Header.Del("Origin") // it was checked here, and has another port
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
}
