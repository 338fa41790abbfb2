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
 * Limits the memory for the bodies of all requests. A request takes its share as bytes arrive and
 * as they are parsed, so any number of requests of any size and speed fit: a request without a body
 * takes nothing, and a slow one holds only what has arrived.
 *
 * <p>One tenant gets at most a quarter, and a part is reserved for tenants that hold little, so
 * that a tenant's small requests succeed while others send large ones. There is no queue: a request
 * that needs more than is free never blocks one that needs less.
 *
 * <p>Large responses are counted as well, from when their parts are read until they are sent.
 *
 * <p>Nothing waits forever. A request may wait while it holds memory, because it waits for small
 * steps; it fails with 503 after a second, or five if much of it has arrived, and then releases all
 * it holds. Rows of batches never wait: they go to a temporary file once an eighth of the tenant's
 * part is taken.
 */
public final class BodyMemory {

  /** One part of the heap; the rest is for everything else, such as responses and the engine. */
  private static final int HEAP_PARTS = 4;

  private static final long MIN_BYTES = 32L << 20;
  private static final int TENANTS_PART = 4;

  /** Reserved for tenants that hold at most {@link #SMALL_BYTES}. */
  private static final int RESERVED_PART = 8;

  private static final long SMALL_BYTES = 64L << 10;

  /**
   * Data that can go to a file uses only this part of a tenant's memory, so that four of the
   * largest batches at once find room for data that cannot.
   */
  private static final int OPTIONAL_PART = 8;

  /** A response is in memory as text and as bytes while it is sent. */
  private static final int RESPONSE_COPIES = 2;

  /** For temporary files of all tenants; one tenant gets a quarter. */
  private static final long MAX_DISK_BYTES = 2L << 30;

  private static final Duration MAX_WAIT = Duration.ofSeconds(1);

  /** A request of which this much has arrived waits longer: sending it again would cost more. */
  private static final long LARGE_BYTES = 1 << 20;

  private static final Duration MAX_WAIT_OF_LARGE = Duration.ofSeconds(5);

  /** A thread that just begins to wait may miss a notification. */
  private static final long RECHECK_MILLIS = 50;

  private static final String NODE_FULL =
      "the bodies of other requests use all the memory for bodies on this node; retry later";

  private final long all;
  private final long ofTenant;
  private final SpillDirectories spillDirectories;
  private final AtomicLong used = new AtomicLong();
  private final AtomicLong spilled = new AtomicLong();
  private final Map<TenantId, Tenant> tenants = new ConcurrentHashMap<>();
  private final AtomicLong waiting = new AtomicLong();
  private final AtomicReference<@Nullable Rejections> rejections = new AtomicReference<>();

  /** What the requests of one tenant hold. */
  private static final class Tenant {
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong spilled = new AtomicLong();
  }

  private record Rejections(Counter ofTenant, Counter ofNode) {}

  public BodyMemory(SpillDirectories spillDirectories) {
    this(Math.max(MIN_BYTES, Runtime.getRuntime().maxMemory() / HEAP_PARTS), spillDirectories);
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
        .description("Memory held by the bodies of running requests")
        .baseUnit("bytes")
        .register(metrics);
    Gauge.builder("carillon.body.memory.max", () -> all)
        .description("Maximum memory for the bodies of all requests; one tenant gets a quarter")
        .baseUnit("bytes")
        .register(metrics);
    Gauge.builder("carillon.body.spilled", spilled, AtomicLong::doubleValue)
        .description("Rows of large batches in temporary files, until they are stored")
        .baseUnit("bytes")
        .register(metrics);
    rejections.set(new Rejections(rejected(metrics, "tenant"), rejected(metrics, "node")));
    return this;
  }

  private static Counter rejected(MeterRegistry metrics, String full) {
    return Counter.builder("carillon.body.refused")
        .description(
            "Requests rejected with 503 because their body did not fit into the memory for bodies")
        .tag("full", full)
        .register(metrics);
  }

  /** Creates the share of one request, which holds nothing yet. */
  public Share share(TenantId tenant) {
    return new Share(tenants.computeIfAbsent(tenant, _ -> new Tenant()));
  }

  long used() {
    return used.get();
  }

  long ofTenant() {
    return ofTenant;
  }

  /** The limit that is reached. */
  private enum Full {
    TENANT,
    NODE
  }

  private @Nullable Full tryTake(Tenant tenant, long bytes, int part) {
    if (!add(tenant.used, bytes, ofTenant / part)) {
      return Full.TENANT;
    }
    long max = tenant.used.get() <= SMALL_BYTES ? all : all - all / RESERVED_PART;
    if (!add(used, bytes, part == 1 ? max : max / 2)) {
      tenant.used.addAndGet(-bytes);
      return Full.NODE;
    }
    return null;
  }

  private static boolean add(AtomicLong counter, long bytes, long max) {
    while (true) {
      long now = counter.get();
      if (now + bytes > max) {
        return false;
      }
      if (counter.compareAndSet(now, now + bytes)) {
        return true;
      }
    }
  }

  private void take(Tenant tenant, long bytes, Duration maxWait) {
    Full full = tryTake(tenant, bytes, 1);
    if (full != null) {
      full = await(tenant, bytes, maxWait);
    }
    if (full != null) {
      throw rejection(full);
    }
  }

  private synchronized @Nullable Full await(Tenant tenant, long bytes, Duration maxWait) {
    long deadline = System.nanoTime() + maxWait.toNanos();
    waiting.incrementAndGet();
    try {
      while (true) {
        Full full = tryTake(tenant, bytes, 1);
        if (full == null || System.nanoTime() - deadline > 0) {
          return full;
        }
        wait(RECHECK_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Full.NODE;
    } finally {
      waiting.decrementAndGet();
    }
  }

  private void release(Tenant tenant, long bytes) {
    tenant.used.addAndGet(-bytes);
    used.addAndGet(-bytes);
    if (waiting.get() > 0) {
      synchronized (this) {
        notifyAll();
      }
    }
  }

  private ApiException rejection(Full full) {
    Rejections counted = rejections.get();
    if (counted != null) {
      (full == Full.TENANT ? counted.ofTenant() : counted.ofNode()).increment();
    }
    return new ApiException(
            ErrorCode.OVERLOADED,
            full == Full.TENANT
                ? "the bodies of this tenant's requests use all its memory on this node, "
                    + (ofTenant >> 20)
                    + " MiB; send fewer or smaller requests at once"
                : NODE_FULL)
        .with("Retry-After", "1")
        .closing();
  }

  /** The memory of one request. Used by one thread, closed after the response. */
  public final class Share implements SpillBuffer.Budget, AutoCloseable {

    private final Tenant tenant;
    private long taken;
    private long onDisk;

    private Share(Tenant tenant) {
      this.tenant = tenant;
    }

    @Override
    public boolean tryReserveMemory(int bytes) {
      if (tryTake(tenant, bytes, OPTIONAL_PART) != null) {
        return false;
      }
      taken += bytes;
      return true;
    }

    @Override
    public void reserveMemory(int bytes) {
      hold(bytes);
    }

    private void hold(long bytes) {
      take(tenant, bytes, taken < LARGE_BYTES ? MAX_WAIT : MAX_WAIT_OF_LARGE);
      taken += bytes;
    }

    private void release(long bytes) {
      taken -= bytes;
      BodyMemory.this.release(tenant, bytes);
    }

    @Override
    public void reserveDisk(int bytes) {
      if (!add(tenant.spilled, bytes, MAX_DISK_BYTES / TENANTS_PART)) {
        throw rejection(Full.TENANT);
      }
      if (!add(spilled, bytes, MAX_DISK_BYTES)) {
        tenant.spilled.addAndGet(-bytes);
        throw rejection(Full.NODE);
      }
      onDisk += bytes;
    }

    @Override
    public List<Path> directories() {
      return spillDirectories.inOrder();
    }

    /** Memory for one object of the request that grows and shrinks. */
    public Held held() {
      return new Held(this);
    }

    /**
     * Releases the memory of the body, and holds that of the response until it is sent. Finished
     * work always gets its response: a large one counts even if there is no room, so that the next
     * caller waits.
     */
    public void keepFor(int responseChars) {
      long wanted = responseChars <= SMALL_BYTES ? 0 : (long) RESPONSE_COPIES * responseChars;
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

  /** The memory of one object that grows and shrinks: a buffer, or the parsed values. */
  public static final class Held {

    private static final long SMALL_STEP = 4 << 10;
    private static final long STEP = 64 << 10;
    private static final long FINE_STEP = 1 << 10;

    private final @Nullable Share share;
    private long taken;

    private Held(@Nullable Share share) {
      this.share = share;
    }

    /** Memory without a limit, for texts that are not part of a request. */
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

    /** Releases all but this many bytes, if that is at least half. */
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
