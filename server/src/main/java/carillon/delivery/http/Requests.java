package carillon.delivery.http;

import carillon.delivery.MessageHeaders;
import carillon.delivery.Signature;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.SentRequest;
import carillon.model.target.Target;
import carillon.model.target.TargetUrl;
import carillon.model.target.TraceParent;
import carillon.model.task.ClaimedTask;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Iterator;
import java.util.Set;
import org.apache.hc.core5.http.ClassicHttpRequest;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.http.message.BasicClassicHttpRequest;

/** Builds the request of one attempt. */
final class Requests {

  /** Headers that are not recorded, because the task or the attempt already has their values. */
  private static final Set<String> NOT_RECORDED =
      Set.of(
          "Host",
          "Accept-Encoding",
          "webhook-id",
          "Carillon-Task-Id",
          "Carillon-Task-Type",
          "Carillon-Attempt",
          "Carillon-Fence",
          "Carillon-Due-At",
          "Carillon-Schedule",
          "Carillon-Fire-At",
          TraceParent.HEADER);

  private final String userAgent;

  Requests(String version) {
    this.userAgent = "Carillon/" + version;
  }

  ClassicHttpRequest of(ClaimedTask task, Target.Http target, TargetUrl url, Instant now) {
    var request = new BasicClassicHttpRequest(target.method(), url.path());
    request.setHeader("Host", url.authority());
    request.setHeader("User-Agent", userAgent);
    byte[] body = bodyOf(task, target);
    if (HttpTargetRules.sendsBody(target.method())) {
      request.setHeader("Content-Length", body.length);
    }
    if (body.length > 0) {
      request.setHeader("Content-Type", "application/json");
      request.setEntity(new ByteArrayEntity(body, null));
    }
    target
        .headers()
        .forEach(
            (name, value) -> {
              // Rejected when the target was created, unless other rules applied then.
              if (!HttpTargetRules.isReserved(name)) {
                request.setHeader(name, value);
              }
            });
    sign(request, task, body, now);
    describe(request, task);
    return request;
  }

  /** The request as it is recorded with the attempt. */
  static String described(ClassicHttpRequest request, Target.Http target) {
    var sent = new SentRequest(request.getMethod(), target.url());
    for (Iterator<Header> headers = request.headerIterator(); headers.hasNext(); ) {
      Header header = headers.next();
      if (!NOT_RECORDED.contains(header.getName())) {
        sent.header(header.getName(), header.getValue(), target.isSecret(header.getName()));
      }
    }
    return sent.text();
  }

  private static byte[] bodyOf(ClaimedTask task, Target.Http target) {
    String text = target.body() != null ? target.body() : task.payload();
    return text == null || !HttpTargetRules.sendsBody(target.method())
        ? new byte[0]
        : text.getBytes(StandardCharsets.UTF_8);
  }

  /** The id is the same for all attempts, so that receivers can drop duplicates. */
  private static void sign(ClassicHttpRequest request, ClaimedTask task, byte[] body, Instant now) {
    String id = task.id().toString();
    request.setHeader("webhook-id", id);
    request.setHeader("webhook-timestamp", now.getEpochSecond());
    if (!task.signingSecrets().isEmpty()) {
      request.setHeader(
          "webhook-signature", Signature.of(id, now.getEpochSecond(), body, task.signingSecrets()));
    }
  }

  private static void describe(ClassicHttpRequest request, ClaimedTask task) {
    request.setHeader("Carillon-Task-Id", task.id());
    request.setHeader("Carillon-Task-Type", task.type());
    request.setHeader("Carillon-Attempt", task.attempt());
    request.setHeader("Carillon-Fence", task.lease().fence());
    request.setHeader("Carillon-Due-At", MessageHeaders.millis(task.dueAt()));
    if (task.scheduleName() != null) {
      request.setHeader("Carillon-Schedule", task.scheduleName());
    }
    if (task.fireAt() != null) {
      request.setHeader("Carillon-Fire-At", MessageHeaders.millis(task.fireAt()));
    }
    request.setHeader(TraceParent.HEADER, TraceParent.of(task.id(), task.lease().fence()));
    request.setHeader("Accept-Encoding", "identity");
  }
}
