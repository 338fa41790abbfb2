package carillon.api.json;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.model.TenantId;
import carillon.store.tasks.SpillBuffer;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The memory for the bodies of all requests at once. A request takes its share as bytes arrive and
 * as they are parsed, so that however many requests come, however large and however slow they are,
 * they fit: a request without a body takes nothing, and one whose body trickles in holds what has
 * arrived and no more.
 *
 * <p>One tenant has at most a quarter, and a part of all is kept for tenants that hold little, so
 * that a tenant's small requests go through while others send their largest. There is no queue: a
 * request that needs more than is free never stands in front of one that needs less.
 *
 * <p>Large answers are counted as well, from when their parts are read until they are sent.
 *
 * <p>Nothing can wait for ever. A request may wait while it holds something, because what it waits
 * for is small steps, and it gives up after a second, or five if much of it has arrived, with 503;
 * then everything that it holds is free again. What can do without memory never waits: the rows of
 * batches go to a temporary file as soon as an eighth of the tenant's part is taken.
 */
public final class BodyMemory {

  /** Of the heap. The rest is for what else a node holds, answers and engine included. */
  private static final int HEAP_PARTS = 4;

  private static final long LEAST = 32L << 20;
  private static final int TENANTS_PART = 4;

  /** Kept for tenants that hold no more than {@link #LITTLE}. */
  private static final int RESERVED_PART = 8;

  private static final long LITTLE = 64L << 10;

  /**
   * What can be in a file is held in memory only up to this part of what a tenant may hold, so that
   * four of the largest batches at once find room for what they must hold.
   */
  private static final int OPTIONAL_PART = 8;

  /** An answer is in memory as text and as bytes while it is sent. */
  private static final int ANSWER_COPIES = 2;

  /** Of temporary files, for all tenants and for one. */
  private static final long DISK = 2L << 30;

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  /** A request of which so much has arrived waits longer: sending it again would cost more. */
  private static final long MUCH = 1 << 20;

  private static final Duration PATIENCE_WITH_MUCH = Duration.ofSeconds(5);

  /** A notification may be missed by who just begins to wait. */
  private static final long LOOK_AGAIN_MILLIS = 50;

  private static final String NODE_FULL =
      "the bodies of other requests take all the memory for them on this node";

  private final long all;
  private final long ofTenant;
  private final SpillDirectories spillDirectories;
  private final AtomicLong used = new AtomicLong();
  private final AtomicLong spilled = new AtomicLong();
  private final Map<TenantId, Tenant> tenants = new ConcurrentHashMap<>();
  private final AtomicLong waiting = new AtomicLong();
  private final AtomicReference<@Nullable Refusals> refusals = new AtomicReference<>();

  /** What the requests of one tenant hold. */
  private static final class Tenant {
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong spilled = new AtomicLong();
  }

  private record Refusals(Counter ofTenant, Counter ofNode) {}

  public BodyMemory(SpillDirectories spillDirectories) {
    this(Math.max(LEAST, Runtime.getRuntime().maxMemory() / HEAP_PARTS), spillDirectories);
  }

  /**
   * @param all bytes
   */
  public BodyMemory(long all, SpillDirectories spillDirectories) {
    this.all = all;
    this.ofTenant = all / TENANTS_PART;
    this.spillDirectories = spillDirectories;
  }

  public BodyMemory measuredBy(MeterRegistry metrics) {
    Gauge.builder("carillon.body.memory", used, AtomicLong::doubleValue)
        .description("Memory held by the bodies of requests that are being answered")
        .baseUnit("bytes")
        .register(metrics);
    Gauge.builder("carillon.body.memory.max", () -> all)
        .description("Memory that the bodies of all requests may hold; one tenant a quarter of it")
        .baseUnit("bytes")
        .register(metrics);
    Gauge.builder("carillon.body.spilled", spilled, AtomicLong::doubleValue)
        .description("Rows of large batches that are in temporary files until they are stored")
        .baseUnit("bytes")
        .register(metrics);
    refusals.set(new Refusals(refused(metrics, "tenant"), refused(metrics, "node")));
    return this;
  }

  private static Counter refused(MeterRegistry metrics, String full) {
    return Counter.builder("carillon.body.refused")
        .description("Requests answered 503 because their body did not fit into the memory for it")
        .tag("full", full)
        .register(metrics);
  }

  /** The share of one request, which holds nothing yet. */
  public Share share(TenantId tenant) {
    return new Share(tenants.computeIfAbsent(tenant, _ -> new Tenant()));
  }

  /** What is held now. */
  long used() {
    return used.get();
  }

  long ofTenant() {
    return ofTenant;
  }

  /** Which bound is reached; null if none is. */
  private enum Full {
    TENANT,
    NODE
  }

  private @Nullable Full tryTake(Tenant tenant, long bytes, int part) {
    if (!add(tenant.used, bytes, ofTenant / part)) {
      return Full.TENANT;
    }
    long most = tenant.used.get() <= LITTLE ? all : all - all / RESERVED_PART;
    if (!add(used, bytes, part == 1 ? most : most / 2)) {
      tenant.used.addAndGet(-bytes);
      return Full.NODE;
    }
    return null;
  }

  private static boolean add(AtomicLong counter, long bytes, long most) {
    while (true) {
      long now = counter.get();
      if (now + bytes > most) {
        return false;
      }
      if (counter.compareAndSet(now, now + bytes)) {
        return true;
      }
    }
  }

  private void take(Tenant tenant, long bytes, Duration patience) {
    Full full = tryTake(tenant, bytes, 1);
    if (full != null) {
      full = await(tenant, bytes, patience);
    }
    if (full != null) {
      throw refuse(full);
    }
  }

  private synchronized @Nullable Full await(Tenant tenant, long bytes, Duration patience) {
    long deadline = System.nanoTime() + patience.toNanos();
    waiting.incrementAndGet();
    try {
      while (true) {
        Full full = tryTake(tenant, bytes, 1);
        if (full == null || System.nanoTime() - deadline > 0) {
          return full;
        }
        wait(LOOK_AGAIN_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Full.NODE;
    } finally {
      waiting.decrementAndGet();
    }
  }

  private void giveBack(Tenant tenant, long bytes) {
    tenant.used.addAndGet(-bytes);
    used.addAndGet(-bytes);
    if (waiting.get() > 0) {
      synchronized (this) {
        notifyAll();
      }
    }
  }

  private ApiException refuse(Full full) {
    Refusals counted = refusals.get();
    if (counted != null) {
      (full == Full.TENANT ? counted.ofTenant() : counted.ofNode()).increment();
    }
    return new ApiException(
            ErrorCode.OVERLOADED,
            full == Full.TENANT
                ? "the bodies of this tenant's requests take their part of this node's memory, "
                    + (ofTenant >> 20)
                    + " MiB; send fewer or smaller ones at once"
                : NODE_FULL)
        .with("Retry-After", "1")
        .closing();
  }

  /** What one request holds. Of one thread; closed when the request is answered. */
  public final class Share implements SpillBuffer.Room, AutoCloseable {

    private final Tenant tenant;
    private long taken;
    private long onDisk;

    private Share(Tenant tenant) {
      this.tenant = tenant;
    }

    @Override
    public boolean mayHold(int bytes) {
      if (tryTake(tenant, bytes, OPTIONAL_PART) != null) {
        return false;
      }
      taken += bytes;
      return true;
    }

    @Override
    public void mustHold(int bytes) {
      hold(bytes);
    }

    private void hold(long bytes) {
      take(tenant, bytes, taken < MUCH ? PATIENCE : PATIENCE_WITH_MUCH);
      taken += bytes;
    }

    private void release(long bytes) {
      taken -= bytes;
      giveBack(tenant, bytes);
    }

    @Override
    public void mustSpill(int bytes) {
      if (!add(tenant.spilled, bytes, DISK / TENANTS_PART)) {
        throw refuse(Full.TENANT);
      }
      if (!add(spilled, bytes, DISK)) {
        tenant.spilled.addAndGet(-bytes);
        throw refuse(Full.NODE);
      }
      onDisk += bytes;
    }

    @Override
    public List<Path> directories() {
      return spillDirectories.inOrder();
    }

    /** One thing of the request that grows and shrinks. */
    public Held held() {
      return new Held(this);
    }

    /**
     * Gives back what the body took, and holds what the answer takes until it is sent. Work that is
     * done is answered in any case: a large answer counts even where there is no room for it, so
     * that the next caller waits.
     */
    public void keepFor(int answerChars) {
      long wanted = answerChars <= LITTLE ? 0 : (long) ANSWER_COPIES * answerChars;
      if (taken > wanted) {
        release(taken - wanted);
      } else if (taken < wanted) {
        tenant.used.addAndGet(wanted - taken);
        used.addAndGet(wanted - taken);
        taken = wanted;
      }
    }

    @Override
    public void close() {
      if (taken > 0) {
        release(taken);
      }
      if (onDisk > 0) {
        tenant.spilled.addAndGet(-onDisk);
        spilled.addAndGet(-onDisk);
        onDisk = 0;
      }
    }
  }

  /** The memory of one thing that grows and shrinks: a buffer, or the values that were parsed. */
  public static final class Held {

    private static final long SMALL_STEP = 4 << 10;
    private static final long STEP = 64 << 10;
    private static final long FINE_STEP = 1 << 10;

    private final @Nullable Share share;
    private long taken;

    private Held(@Nullable Share share) {
      this.share = share;
    }

    /** For what is not a request's. */
    public static Held unbounded() {
      return new Held(null);
    }

    /** Holds at least this many bytes from now on. */
    public void need(long bytes) {
      if (bytes > taken) {
        long enough = roundUp(bytes, bytes <= STEP ? SMALL_STEP : STEP);
        if (share != null) {
          share.hold(enough - taken);
        }
        taken = enough;
      }
    }

    /** Gives back what is more than these bytes, if that is worth it. */
    public void shrinkTo(long bytes) {
      long enough = roundUp(bytes, FINE_STEP);
      if (enough <= taken / 2) {
        if (share != null) {
          share.release(taken - enough);
        }
        taken = enough;
      }
    }

    private static long roundUp(long bytes, long step) {
      return (bytes + step - 1) / step * step;
    }
  }
}
