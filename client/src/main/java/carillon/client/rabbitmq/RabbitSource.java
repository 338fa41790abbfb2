package carillon.client.rabbitmq;

import carillon.client.TaskSource;
import carillon.client.broker.OpenAttempts;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URISyntaxException;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Delivers tasks from a RabbitMQ queue to a worker.
 *
 * <pre>{@code
 * carillon.worker("biller")
 *     .handle("invoice.pay", Invoice.class, biller)
 *     .source(RabbitSource.of("amqp://user:password@rabbit/", "invoices"))
 *     .start();
 * }</pre>
 *
 * <p>A message is acknowledged once its task has been reported, so a crash loses no task:
 * unreported tasks are delivered again, to this or another worker. The broker sends at most the
 * worker's prefetch ahead. A lost connection is reopened while running tasks continue.
 *
 * <p>A message without a token is handled but not reported: its task completed when it was
 * published. If its handler throws, the message is rejected and goes to the dead letter exchange of
 * the queue, if any. So does a message that is not from Carillon.
 */
public final class RabbitSource implements TaskSource {

  private static final Logger log = System.getLogger(RabbitSource.class.getName());
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(15);
  private static final int HEARTBEAT_SECONDS = 5;
  private static final int CONNECT_MILLIS = 3_000;

  private final ConnectionFactory broker;
  private final String queue;
  private final @Nullable QueueSpec spec;
  private final BiConsumer<Delivery, String> onSkipped;
  private final OpenAttempts openAttempts = new OpenAttempts();
  private @Nullable RabbitRun current;
  private boolean isStopped;

  private RabbitSource(
      ConnectionFactory broker,
      String queue,
      @Nullable QueueSpec spec,
      BiConsumer<Delivery, String> onSkipped) {
    this.broker = broker;
    this.queue = queue;
    this.spec = spec;
    this.onSkipped = onSkipped;
  }

  /**
   * Consumes from an existing queue.
   *
   * @param uri the broker: {@code amqp://user:password@host:port/vhost}; amqps verifies the
   *     certificate and host name
   * @throws IllegalArgumentException if it is not such a URI
   */
  public static RabbitSource of(String uri, String queue) {
    return of(factory(uri), queue);
  }

  /** Consumes from an existing queue with your own factory. Its recovery settings are ignored. */
  public static RabbitSource of(ConnectionFactory broker, String queue) {
    ConnectionFactory own = broker.clone();
    own.setAutomaticRecoveryEnabled(false);
    own.setTopologyRecoveryEnabled(false);
    return new RabbitSource(own, queue, null, RabbitSource::log);
  }

  /** Consumes from a queue and declares it first. */
  public static RabbitSource of(String uri, QueueSpec queue) {
    return of(uri, queue.name()).declaring(queue);
  }

  private RabbitSource declaring(QueueSpec each) {
    return new RabbitSource(broker, queue, each, onSkipped);
  }

  /**
   * Sets an action for skipped messages, which are not from Carillon, have no handler or are
   * expired, with the reason. Default: log them.
   */
  public RabbitSource onSkipped(BiConsumer<Delivery, String> action) {
    return new RabbitSource(broker, queue, spec, action);
  }

  private static ConnectionFactory factory(String uri) {
    ConnectionFactory factory = new ConnectionFactory();
    try {
      factory.setUri(uri);
      if (factory.isSSL()) {
        factory.useSslProtocol(javax.net.ssl.SSLContext.getDefault());
        factory.enableHostnameVerification();
      }
    } catch (URISyntaxException | GeneralSecurityException | IllegalArgumentException e) {
      // Without the cause, which contains the password.
      throw new IllegalArgumentException("not a URI such as amqp://user:password@host/vhost");
    }
    factory.setRequestedHeartbeat(HEARTBEAT_SECONDS);
    factory.setConnectionTimeout(CONNECT_MILLIS);
    return factory;
  }

  private static void log(Delivery message, String why) {
    log.log(
        Level.WARNING,
        "skipped message exchange={0} reason={1}",
        message.getEnvelope().getExchange(),
        why);
  }

  @Override
  public void run(Sink sink) throws IOException, TimeoutException, InterruptedException {
    RabbitRun run;
    synchronized (this) {
      if (isStopped) {
        return;
      }
      run = new RabbitRun(sink, openAttempts, onSkipped);
      current = run;
    }
    run.consume(broker, queue, spec);
  }

  @Override
  public synchronized void stop() {
    isStopped = true;
    if (current != null) {
      current.stop();
    }
  }

  /** Acknowledges ended tasks and disconnects. */
  @Override
  public void close() {
    stop();
    RabbitRun run;
    synchronized (this) {
      run = current;
    }
    if (run != null) {
      run.close(CLOSE_TIMEOUT);
    }
  }
}
