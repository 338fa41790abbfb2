package carillon.bench.systems;

import java.io.IOException;
import java.util.Map;

/** No scheduler at all: plain rows, and plain requests, made by a process of their own. */
public final class RawLimit extends OwnProcess {

  RawLimit(Database database, PeerProcess process) {
    super(database, process);
  }

  /** Posts payloads with a fixed concurrency and waits for all responses. */
  public Taken post(String url, int tasks, int callers) throws IOException {
    return taken(ask("post", Map.of("url", url, "tasks", tasks, "callers", callers)));
  }

  /** Sends payloads to Kafka and waits until all are confirmed. */
  public Taken produce(String servers, int tasks) throws IOException {
    return taken(ask("produce", Map.of("servers", servers, "tasks", tasks)));
  }
}
