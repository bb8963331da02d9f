package actors

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/operator"
	"github.com/skelegent/skelegent-go/bus"
)

// serviceVersion is what discovery reports; operators have no versions of their own yet.
const serviceVersion = "0.1.0"

// endpointName is the name of the one endpoint of an operator's service.
const endpointName = "op"

// discovery answers for the operators of a node as NATS micro services. It is not built on micro.AddService, whose
// statistics time only the handler, which here hands over at once.
type discovery struct {
	conn     *bus.Conn
	node     string
	log      *zap.Logger
	started  time.Time
	services []*service
	subs     []*nats.Subscription
}

type service struct {
	host     *operator.Host
	identity micro.ServiceIdentity
	info     micro.Info
}

func newDiscovery(conn *bus.Conn, node string, log *zap.Logger) *discovery {
	return &discovery{conn: conn, node: node, log: log.Named("discovery"), started: time.Now().UTC()}
}

func (d *discovery) add(h *operator.Host, o options) {
	concurrency, waiting := h.Limits()
	metadata := map[string]string{
		bus.MetadataOperator: d.conn.Names().Prefix(),
		"skelegent.node":     d.node,
		"durable":            strconv.FormatBool(o.durable),
		"concurrency":        strconv.Itoa(concurrency),
		"waiting":            strconv.Itoa(waiting),
	}
	if o.version != "" {
		metadata["version"] = o.version
	}
	for k, v := range o.metadata {
		metadata[k] = v
	}
	if len(o.inputSchema) > 0 {
		metadata["input_schema"] = string(o.inputSchema)
	}
	if len(o.outputSchema) > 0 {
		metadata["output_schema"] = string(o.outputSchema)
	}
	s := &service{host: h, identity: micro.ServiceIdentity{
		Name: string(h.ID()), ID: strings.ReplaceAll(uuid.NewString(), "-", ""), Version: serviceVersion, Metadata: metadata,
	}}
	s.info = micro.Info{
		ServiceIdentity: s.identity, Type: micro.InfoResponseType, Description: o.description,
		Endpoints: []micro.EndpointInfo{{
			Name: endpointName, Subject: d.conn.Names().Op(string(h.ID())), QueueGroup: operator.Queue, Metadata: map[string]string{},
		}},
	}
	d.services = append(d.services, s)
}

// start subscribes to the questions: to all services, to those of a name, to one.
func (d *discovery) start() error {
	if err := d.subscribe("*", d.services); err != nil {
		return err
	}
	for _, s := range d.services {
		one := []*service{s}
		if err := d.subscribe("*."+s.identity.Name, one); err != nil {
			return err
		}
		if err := d.subscribe("*."+s.identity.Name+"."+s.identity.ID, one); err != nil {
			return err
		}
	}
	return nil
}

func (d *discovery) subscribe(pattern string, services []*service) error {
	sub, err := d.conn.NATS().Subscribe(micro.APIPrefix+"."+pattern, func(m *nats.Msg) {
		verb, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, micro.APIPrefix+"."), ".")
		for _, s := range services {
			if answer := s.answer(verb, d.started); answer != nil {
				d.respond(m, answer)
			}
		}
	})
	if err != nil {
		return bus.Translate("subscribe for discovery", err)
	}
	d.subs = append(d.subs, sub)
	return nil
}

func (d *discovery) respond(m *nats.Msg, answer any) {
	if !operator.Replyable(m.Reply) || m.Reply == "" {
		return
	}
	body, err := json.Marshal(answer)
	if err == nil {
		err = d.conn.NATS().Publish(m.Reply, body)
	}
	if err != nil {
		d.log.Debug("discovery not answered", zap.Error(err))
	}
}

func (d *discovery) stop() {
	for _, s := range d.subs {
		if err := s.Unsubscribe(); err != nil {
			d.log.Debug("unsubscribe", zap.Error(err))
		}
	}
	d.subs = nil
}

func (s *service) answer(verb string, started time.Time) any {
	switch verb {
	case micro.PingVerb.String():
		return micro.Ping{ServiceIdentity: s.identity, Type: micro.PingResponseType}
	case micro.InfoVerb.String():
		return s.info
	case micro.StatsVerb.String():
		return micro.Stats{
			ServiceIdentity: s.identity, Type: micro.StatsResponseType, Started: started,
			Endpoints: []*micro.EndpointStats{s.stats()},
		}
	}
	return nil
}

// counts is the part of the statistics that micro has no fields for.
type counts struct {
	Running int64  `json:"running"`
	Waiting int64  `json:"waiting"`
	Refused uint64 `json:"refused"`
}

func (s *service) stats() *micro.EndpointStats {
	snap := s.host.Stats().Snapshot()
	e := &micro.EndpointStats{
		Name: endpointName, Subject: s.info.Endpoints[0].Subject, QueueGroup: operator.Queue,
		NumRequests: int(snap.Requests),
		NumErrors:   int(snap.Errors),
		LastError:   snap.LastError, ProcessingTime: snap.Time,
	}
	if snap.Requests > 0 {
		e.AverageProcessingTime = snap.Time / time.Duration(snap.Requests)
	}
	data, err := json.Marshal(counts{Running: snap.Running, Waiting: snap.Waiting, Refused: snap.Refused})
	if err == nil {
		e.Data = data
	}
	return e
}
