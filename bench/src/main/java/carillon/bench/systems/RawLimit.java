package carillon.bench.systems;

import java.io.IOException;
import java.util.Map;

/** No scheduler: plain rows and plain requests, from a separate process. */
public final class RawLimit extends OwnProcess {

  RawLimit(Database database, PeerProcess process) {
    super(database, process);
  }

  /** Posts payloads with a fixed concurrency and waits for all responses. */
  public Accepted post(String url, int tasks, int callers) throws IOException {
    return accepted(ask("post", Map.of("url", url, "tasks", tasks, "callers", callers)));
  }

  /** Sends payloads to Kafka and waits until all are confirmed. */
  public Accepted produce(String servers, int tasks) throws IOException {
    return accepted(ask("produce", Map.of("servers", servers, "tasks", tasks)));
  }
}
