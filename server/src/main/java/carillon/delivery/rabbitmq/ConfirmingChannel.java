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
 * One channel in confirm mode and the thread that writes to it, so that nobody else ever waits for
 * the network.
 */
final class ConfirmingChannel {

  private static final Logger log = LoggerFactory.getLogger(ConfirmingChannel.class);

  /** Unconfirmed messages; more of them make the broker's memory full and nothing faster. */
  private static final int WINDOW = 3_000;

  /** A message waits for so long to be sent, and then for so long for its confirm. */
  static final Duration SENT_WITHIN = Duration.ofSeconds(3);

  static final Duration CONFIRMED_WITHIN = Duration.ofSeconds(7);

  private static final Duration ENDED_WITHIN = Duration.ofSeconds(1);

  private static final String NO_MESSAGE = "the broker's client can make no message of it";

  private final Channel channel;
  private final Valve valve;
  private final InstantSource clock;
  private final BlockingDeque<Publication> waiting = new LinkedBlockingDeque<>();
  private final ConcurrentNavigableMap<Long, Publication> unconfirmed =
      new ConcurrentSkipListMap<>();
  private final Semaphore window = new Semaphore(WINDOW);
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
   * @param valve holds writing up while the broker wants nothing
   * @param clock of the database, which leases end by
   * @param whenClosed is told why, if it was not us
   */
  static ConfirmingChannel open(
      Channel channel, Valve valve, String name, InstantSource clock, ChannelClosed whenClosed)
      throws IOException {
    var confirming = new ConfirmingChannel(channel, valve, name, clock);
    channel.confirmSelect();
    channel.addReturnListener(confirming::returned);
    channel.addConfirmListener(confirming::acked, confirming::nacked);
    channel.addShutdownListener(cause -> whenClosed.because(confirming, cause));
    confirming.writer.start();
    return confirming;
  }

  /** Hears that the broker or the network has closed a channel. */
  interface ChannelClosed {
    void because(ConfirmingChannel channel, ShutdownSignalException cause);
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
      // the end
    } catch (Throwable e) { // what it holds would else keep its seats for ever
      log.error("thread={} ends in an unforeseen way", writer.getName(), e);
      abort(); // who hears of it ends the connection, and all on it
    } finally {
      close(_ -> Publication.unreached("the connection was given up"));
    }
  }

  /** Whatever it waits for, the next one stays where it can be given up. */
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
        next.end(Publication.unreached("it could not be sent"));
        throw e;
      }
    } finally {
      if (!isSent) {
        window.release();
      }
    }
  }

  /** Whether it is among the unconfirmed now, or was. */
  private boolean send(Publication next) {
    Instant now = clock.instant();
    if (next.isLapsed(now)) {
      next.end(Publication.unreached("its lease ended before it could be sent"));
      return false;
    }
    byte[] body = MessageHeaders.body(next.task); // only now: it is a second copy of the payload
    BasicProperties properties;
    try {
      properties = Message.properties(next.task, body, now);
    } catch (RuntimeException e) {
      log.warn("no message can be made of task={}", next.task.id(), e);
      next.end(Publication.refused(NO_MESSAGE));
      return false;
    }
    next.sent(System.nanoTime(), body.length); // before anybody can find it
    unconfirmed.put(channel.getNextPublishSeqNo(), next);
    publish(next, properties, body);
    return true;
  }

  private void publish(Publication next, BasicProperties properties, byte[] body) {
    try {
      channel.basicPublish(
          next.target.exchange(), next.target.routingKey(), true, properties, body);
    } catch (IOException | ShutdownSignalException _) {
      // Who was told that the channel is closed ends this with the others.
      Function<Publication, DeliveryResult> how = ending.get();
      if (how != null) {
        endAll(how);
      }
    } catch (RuntimeException e) {
      // It cannot be written, but was counted: from here on confirms would mean other messages.
      log.warn("no message can be made of task={}", next.task.id(), e);
      next.end(Publication.refused(NO_MESSAGE));
      abort();
    }
  }

  private void abort() {
    try {
      channel.abort();
    } catch (IOException | RuntimeException _) {
      // it is closed already
    }
  }

  /** Comes right before its confirm, so it is among the first that wait for one. */
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

  private void acked(long tag, boolean andBefore) {
    take(tag, andBefore, Publication::confirmed);
  }

  private void nacked(long tag, boolean andBefore) {
    DeliveryResult refused =
        Publication.failed(FailureKind.BROKER_REFUSED, "the queue did not take the message");
    take(tag, andBefore, _ -> refused);
  }

  private void take(long tag, boolean andBefore, Function<Publication, DeliveryResult> how) {
    if (andBefore) {
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

  /** Whether such a message waits for its confirm. */
  boolean hasSent(Predicate<Publication> such) {
    return unconfirmed.values().stream().anyMatch(such);
  }

  /** Ends those that have waited for too long, and returns how many they were. */
  int giveUp(long now, Consumer<Target.RabbitMq> whenUnconfirmed) {
    int old = 0;
    for (Map.Entry<Long, Publication> entry : unconfirmed.entrySet()) {
      Publication sent = entry.getValue();
      if (now - sent.sentAt() < CONFIRMED_WITHIN.toNanos()) {
        break; // all others were sent later
      }
      whenUnconfirmed.accept(sent.target);
      end(entry.getKey(), _ -> Publication.unreached("the broker did not confirm it in time"));
      old++;
    }
    for (Publication next : waiting) {
      if (now - next.handedInAt() < SENT_WITHIN.toNanos()) {
        break;
      }
      if (waiting.remove(next)) { // else it is being sent
        next.end(Publication.unreached("the broker did not take it in time"));
        old++;
      }
    }
    return old;
  }

  /** Ends everything, now and later. The first to say how decides. */
  void close(Function<Publication, DeliveryResult> how) {
    ending.compareAndSet(null, how);
    Function<Publication, DeliveryResult> decided = ending.get();
    endAll(decided == null ? how : decided);
    writer.interrupt();
  }

  /** Waits until what the writer had in its hand at the close has ended too, but not for long. */
  void awaitEnd() throws InterruptedException {
    writer.join(ENDED_WITHIN);
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
