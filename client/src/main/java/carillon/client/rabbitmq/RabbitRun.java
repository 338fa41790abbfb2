package carillon.client.rabbitmq;

import carillon.client.ClaimedTask;
import carillon.client.TaskSource.Ending;
import carillon.client.TaskSource.Sink;
import carillon.client.broker.OpenAttempts;
import carillon.client.broker.TaskMessage;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One connection: hands over what comes and settles what has ended. Only the thread of {@link
 * #consume} speaks on the channel; others leave what is to be said in a queue.
 */
final class RabbitRun {

  private static final int CLOSE_MILLIS = 3_000;

  private final Sink sink;
  private final OpenAttempts openAttempts;
  private final BiConsumer<Delivery, String> onSkipped;
  private final LinkedBlockingQueue<Step> steps = new LinkedBlockingQueue<>();
  private boolean isCancelled; // known to the channel's thread only
  private final CountDownLatch closed = new CountDownLatch(1);

  /** Something for the channel's thread to do; false to end. */
  @FunctionalInterface
  private interface Step {
    boolean take(Channel channel, String consumer) throws IOException;
  }

  RabbitRun(Sink sink, OpenAttempts openAttempts, BiConsumer<Delivery, String> onSkipped) {
    this.sink = sink;
    this.openAttempts = openAttempts;
    this.onSkipped = onSkipped;
  }

  /** Returns when closed; throws when the connection is lost. */
  void consume(ConnectionFactory broker, String queue, @Nullable QueueSpec spec)
      throws IOException, TimeoutException, InterruptedException {
    try {
      Connection connection = broker.newConnection("carillon " + sink.worker());
      try {
        consume(connection.createChannel(), queue, spec);
      } finally {
        connection.abort(CLOSE_MILLIS); // like close, but does not mind that it is lost
      }
    } catch (IOException e) {
      throw explained(e);
    } finally {
      closed.countDown();
    }
  }

  /** What the broker refused says nothing itself; the reason is in its cause. */
  private static IOException explained(IOException e) {
    Throwable cause = e.getCause();
    return e.getMessage() == null && cause != null ? new IOException(cause.getMessage(), e) : e;
  }

  private void consume(Channel channel, String queue, @Nullable QueueSpec spec)
      throws IOException, TimeoutException, InterruptedException {
    if (spec != null) {
      spec.declare(channel);
    }
    channel.basicQos(sink.prefetch());
    channel.addShutdownListener(this::lost);
    String consumer =
        channel.basicConsume(
            queue,
            false,
            (tag, message) -> arrived(message),
            tag -> end("the queue is gone", null));
    sink.connected();
    while (steps.take().take(channel, consumer)) {
      // each step does all
    }
    channel.close(); // after the acknowledgements, which the broker reads first
  }

  private void lost(ShutdownSignalException why) {
    end("the connection to RabbitMQ is lost", why);
  }

  private void end(String message, @Nullable Throwable why) {
    steps.add(
        (channel, consumer) -> {
          throw new IOException(message, why);
        });
  }

  private void arrived(Delivery message) {
    long tag = message.getEnvelope().getDeliveryTag();
    TaskMessage read = read(message);
    if (read instanceof TaskMessage.Of of) {
      openAttempts.accept(
          sink,
          of.task(),
          message.getEnvelope().isRedeliver(),
          how -> steps.add((channel, consumer) -> settle(channel, tag, of.task(), how)));
    } else if (read instanceof TaskMessage.Expired) {
      read.report(onSkipped, message);
      steps.add((channel, consumer) -> acknowledge(channel, tag));
    } else {
      read.report(onSkipped, message);
      steps.add((channel, consumer) -> reject(channel, tag, false));
    }
  }

  private TaskMessage read(Delivery message) {
    Map<String, String> headers = new HashMap<>();
    Map<String, Object> all = message.getProperties().getHeaders();
    if (all != null) {
      all.forEach((name, value) -> headers.put(name, String.valueOf(value)));
    }
    return TaskMessage.read(headers, message.getBody(), sink.types(), Instant.now());
  }

  private static boolean settle(Channel channel, long tag, ClaimedTask task, Ending how)
      throws IOException {
    if (how == Ending.FAILED) {
      return reject(channel, tag, false);
    }
    // With a token the server publishes it again by itself.
    boolean isUnknownToServer = how == Ending.RELEASED && task.token() == null;
    return isUnknownToServer ? reject(channel, tag, true) : acknowledge(channel, tag);
  }

  private static boolean acknowledge(Channel channel, long tag) throws IOException {
    channel.basicAck(tag, false);
    return true;
  }

  private static boolean reject(Channel channel, long tag, boolean again) throws IOException {
    channel.basicReject(tag, again);
    return true;
  }

  /** Has no more messages sent; those on their way go back to the queue when we leave. */
  void stop() {
    steps.add(
        (channel, consumer) -> {
          if (!isCancelled) {
            isCancelled = true;
            channel.basicCancel(consumer);
          }
          return true;
        });
  }

  /** From another thread: has it say what is left to say, and waits for that. */
  void close(Duration timeout) {
    steps.add((channel, consumer) -> false);
    try {
      closed.await(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
