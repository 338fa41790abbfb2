package carillon.delivery.rabbitmq;

import carillon.delivery.MessageHeaders;
import carillon.model.target.Target;
import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Return;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One channel in confirm mode and the thread that writes to it, so that no other thread blocks on
 * the network.
 */
final class ConfirmingChannel {

  private static final Logger log = LoggerFactory.getLogger(ConfirmingChannel.class);

  /** More unconfirmed messages fill the broker's memory without raising throughput. */
  private static final int MAX_UNCONFIRMED = 3_000;

  static final Duration SEND_TIMEOUT = Duration.ofSeconds(3);

  /** Counted from when the message was sent. */
  static final Duration CONFIRM_TIMEOUT = Duration.ofSeconds(7);

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  private static final String NO_MESSAGE = "the task cannot be encoded as a RabbitMQ message";

  private final Channel channel;
  private final Valve valve;
  private final InstantSource clock;
  private final BlockingDeque<Publication> waiting = new LinkedBlockingDeque<>();
  private final ConcurrentNavigableMap<Long, Publication> unconfirmed =
      new ConcurrentSkipListMap<>();
  private final Semaphore window = new Semaphore(MAX_UNCONFIRMED);
  private final AtomicReference<@Nullable Function<Publication, DeliveryResult>> ending =
      new AtomicReference<>();
  private final Thread writer;

  private ConfirmingChannel(Channel channel, Valve valve, String name, InstantSource clock) {
    this.channel = channel;
    this.valve = valve;
    this.clock = clock;
    this.writer = Thread.ofVirtual().name(name).unstarted(this::write);
  }

  /**
   * @param valve shut while the broker has blocked the connection
   * @param clock the database's clock, which decides when leases end
   * @param onClose called if the broker or the network closes the channel
   */
  static ConfirmingChannel open(
      Channel channel, Valve valve, String name, InstantSource clock, CloseListener onClose)
      throws IOException {
    var confirming = new ConfirmingChannel(channel, valve, name, clock);
    channel.confirmSelect();
    channel.addReturnListener(confirming::returned);
    channel.addConfirmListener(confirming::acked, confirming::nacked);
    channel.addShutdownListener(cause -> onClose.closed(confirming, cause));
    confirming.writer.start();
    return confirming;
  }

  /** Called when the broker or the network has closed a channel. */
  interface CloseListener {
    void closed(ConfirmingChannel channel, ShutdownSignalException cause);
  }

  void add(Publication publication) {
    waiting.add(publication);
    Function<Publication, DeliveryResult> how = ending.get();
    if (how != null) {
      endAll(how);
    }
  }

  private void write() {
    try {
      while (ending.get() == null) {
        writeNext();
      }
    } catch (InterruptedException _) {
      // closed
    } catch (Throwable e) { // otherwise its messages would hold their seats forever
      log.error("channel writer failed thread={}", writer.getName(), e);
      abort(); // the close listener then ends the connection and everything on it
    } finally {
      close(_ -> Publication.unreached("the connection was closed"));
    }
  }

  /**
   * Waits for the window first: until then the next message stays in the queue, where it can time
   * out.
   */
  private void writeNext() throws InterruptedException {
    window.acquire();
    boolean isSent = false;
    try {
      Publication next = waiting.take();
      if (!valve.isOpen()) {
        waiting.addFirst(next);
        valve.awaitOpen();
        return;
      }
      try {
        isSent = send(next);
      } catch (Throwable e) {
        next.end(Publication.unreached("the message could not be sent"));
        throw e;
      }
    } finally {
      if (!isSent) {
        window.release();
      }
    }
  }

  /** Sends the message. Returns whether it now waits for a confirm. */
  private boolean send(Publication next) {
    Instant now = clock.instant();
    if (next.isLapsed(now)) {
      next.end(Publication.unreached("the lease ended before the message could be sent"));
      return false;
    }
    byte[] body = MessageHeaders.body(next.task); // not earlier: it is another copy of the payload
    BasicProperties properties;
    try {
      properties = Message.properties(next.task, body, now);
    } catch (RuntimeException e) {
      log.warn("cannot encode message task={}", next.task.id(), e);
      next.end(Publication.refused(NO_MESSAGE));
      return false;
    }
    next.sent(System.nanoTime(), body.length); // before other threads can find it
    unconfirmed.put(channel.getNextPublishSeqNo(), next);
    publish(next, properties, body);
    return true;
  }

  private void publish(Publication next, BasicProperties properties, byte[] body) {
    try {
      channel.basicPublish(
          next.target.exchange(), next.target.routingKey(), true, properties, body);
    } catch (IOException | ShutdownSignalException _) {
      // The close listener ends this message with the others.
      Function<Publication, DeliveryResult> how = ending.get();
      if (how != null) {
        endAll(how);
      }
    } catch (RuntimeException e) {
      // The sequence number was used but nothing was written, so later confirms would match the
      // wrong messages.
      log.warn("cannot encode message task={}", next.task.id(), e);
      next.end(Publication.refused(NO_MESSAGE));
      abort();
    }
  }

  private void abort() {
    try {
      channel.abort();
    } catch (IOException | RuntimeException _) {
      // already closed
    }
  }

  /** A return arrives right before its confirm, so the message is among the oldest unconfirmed. */
  private void returned(Return message) {
    String id = String.valueOf(message.getProperties().getMessageId());
    Map<String, Object> headers = message.getProperties().getHeaders();
    Object fence = headers == null ? null : headers.get("Carillon-Fence");
    for (Publication sent : unconfirmed.values()) {
      if (sent.isOf(id, fence)) {
        sent.markReturned();
        return;
      }
    }
  }

  private void acked(long tag, boolean multiple) {
    end(tag, multiple, Publication::confirmed);
  }

  private void nacked(long tag, boolean multiple) {
    DeliveryResult rejected =
        Publication.failed(FailureKind.BROKER_REFUSED, "the queue rejected the message");
    end(tag, multiple, _ -> rejected);
  }

  private void end(long tag, boolean multiple, Function<Publication, DeliveryResult> how) {
    if (multiple) {
      Map.Entry<Long, Publication> first;
      while ((first = unconfirmed.firstEntry()) != null && first.getKey() <= tag) {
        end(first.getKey(), how);
      }
    } else {
      end(tag, how);
    }
  }

  private void end(long tag, Function<Publication, DeliveryResult> how) {
    Publication sent = unconfirmed.remove(tag);
    if (sent != null) {
      window.release();
      sent.end(how.apply(sent));
    }
  }

  boolean hasUnconfirmed(Predicate<Publication> matches) {
    return unconfirmed.values().stream().anyMatch(matches);
  }

  /** Ends the messages that have waited too long, and returns their number. */
  int endTimedOut(long now, Consumer<Target.RabbitMq> onUnconfirmed) {
    int timedOut = 0;
    for (Map.Entry<Long, Publication> entry : unconfirmed.entrySet()) {
      Publication sent = entry.getValue();
      if (now - sent.sentAt() < CONFIRM_TIMEOUT.toNanos()) {
        break; // all others were sent later
      }
      onUnconfirmed.accept(sent.target);
      end(
          entry.getKey(),
          _ -> Publication.unreached("the broker did not confirm the message in time"));
      timedOut++;
    }
    for (Publication next : waiting) {
      if (now - next.createdAt() < SEND_TIMEOUT.toNanos()) {
        break;
      }
      if (waiting.remove(next)) { // else it is being sent
        next.end(Publication.unreached("the message could not be sent in time"));
        timedOut++;
      }
    }
    return timedOut;
  }

  /** Ends every message, including later ones, with the result of the first call. */
  void close(Function<Publication, DeliveryResult> how) {
    ending.compareAndSet(null, how);
    Function<Publication, DeliveryResult> decided = ending.get();
    endAll(decided == null ? how : decided);
    writer.interrupt();
  }

  /** Waits, at most a second, until the message that the writer was sending has ended too. */
  void awaitEnd() throws InterruptedException {
    writer.join(CLOSE_TIMEOUT);
  }

  private void endAll(Function<Publication, DeliveryResult> how) {
    for (Long tag : unconfirmed.keySet()) {
      end(tag, how);
    }
    Publication next;
    while ((next = waiting.poll()) != null) {
      next.end(how.apply(next));
    }
  }
}
